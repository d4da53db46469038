"""How good a search is: the Cranfield collection, by words, by vectors and by both, scored by ir-measures.

The collection (1,400 abstracts, 225 queries, 1,837 judgments) lies where COLLECTION says. Its judgments name queries by
their order, 1 to 225, and not by the numbers beside the queries; every document that is judged counts as relevant.
"""

import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.measure import Row, Series
from benchmarks.report import REPORTS
from maskline.core.errors import UserError
from maskline.core.storage import write_csv
from maskline.inference.analysis import analyzer
from maskline.inference.indexing import IndexSettings, write_index
from maskline.inference.queries import QueryEncoder
from maskline.inference.search import SearchIndex
from maskline.inference.vectors import open_encoder

COLLECTION = Path("../shared/data/cranfield")
MODELS = {
    "as pretrained": Path("data/models/pretrained"),
    "fine-tuned on stsb": Path("data/models/stsb"),
    "imported": Path("data/imported/model"),
}
"""Name -> directory; those that are there are measured."""
SUBJECT = "retrieval on Cranfield"
DEPTH = 1_000
"""Documents of a ranking that are scored."""
GAIN = 0.03
"""By how much the best fusion should exceed the MAP of BM25."""
SHORT_WORDS = 15
"""Words of the longest short query, the smaller half."""
RARE = 0.1
"""Share of the documents that have a word which still says something."""
COLUMNS = ("method", "queries", "map", "mrr", "ndcg_10", "recall_100", "of")

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]


def rows() -> list[Row]:
    """Score each method with each model that is there; by kind of query in reports/benchmarks/retrieval.csv.

    Raises:
        UserError: the collection or every model is missing.
    """
    import torch

    torch.set_num_threads(1)
    models = {name: path for name, path in MODELS.items() if path.is_dir()}
    if not COLLECTION.is_dir() or not models:
        raise UserError(
            f"{COLLECTION} or each of {', '.join(map(str, MODELS.values()))} is missing: see docs/search.md"
        )
    documents, queries, qrels = read_collection(COLLECTION)
    kinds = kinds_of(documents, queries, qrels)
    runs: dict[str, Run] = {}
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, directory in models.items():
            found = search_all(Path(folder), directory, documents, queries)
            for method, (run, taken) in found.items():
                label = method if method == "bm25" else f"{method}, {name}"
                runs[label], seconds[label] = run, taken
    table = [{"method": label, **row} for label, run in runs.items() for row in by_kind(run, qrels, kinds)]
    write_csv(REPORTS / "retrieval.csv", table, COLUMNS)
    return [row_of(label, table, seconds[label]) for label in runs]


def row_of(label: str, table: Sequence[Mapping[str, Any]], seconds: Sequence[float]) -> Row:
    """Return the row of a method: its MAP over that of BM25, and the seconds of each query."""
    scores = {row["method"]: row for row in table if row["queries"] == "all"}
    own, target = scores[label], None
    if label.startswith("fused") and own["map"] == max(row["map"] for row in scores.values()):
        target = (scores["bm25"]["map"] + GAIN) / scores["bm25"]["map"]
    low, high = np.quantile(seconds, [0.5, 0.95])
    note = ", ".join(f"{name} {own[name]:.3f}" for name in ("map", "mrr", "ndcg_10", "recall_100"))
    note += f"; without the query's vector {1000 * low:.1f} ms (p50), {1000 * high:.1f} ms (p95)"
    series = (Series(label, "MAP", (own["map"],)), Series("bm25", "MAP", (scores["bm25"]["map"],)))
    return Row(SUBJECT, label, own["map"] / scores["bm25"]["map"], target, series=series, note=note)


def read_collection(folder: Path) -> tuple[dict[str, str], dict[str, str], Qrels]:
    """Return the documents and the queries by id, and the documents that are relevant to each query."""
    texts = {}
    for name in ("cran.all.1400", "cran.qry"):
        records = re.split(r"^\.I \d+\n", (folder / name).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        bodies = [" ".join(record.partition("\n.W\n")[2].split()) for record in ("\n" + one for one in records)]
        texts[name] = {str(number): body for number, body in enumerate(bodies, 1)}
    qrels: dict[str, dict[str, int]] = {}
    for line in (folder / "cranqrel").read_text(encoding="utf-8").splitlines():
        query, document, *_ = line.split()
        qrels.setdefault(query, {})[document] = 1
    return texts["cran.all.1400"], texts["cran.qry"], qrels


def search_all(
    folder: Path, model: Path, documents: Mapping[str, str], queries: Mapping[str, str]
) -> dict[str, tuple[Run, list[float]]]:
    """Return for each method the run of all queries and the seconds of each, without the making of vectors."""
    import torch

    source = folder / "documents.jsonl"
    lines = (json.dumps({"id": id_, "text": text}) + "\n" for id_, text in documents.items())
    source.write_text("".join(lines), encoding="utf-8")
    write_index([source], folder / "index", open_encoder(model, torch.device("cpu")), IndexSettings())
    index = SearchIndex(folder / "index")
    with QueryEncoder(model, "mean") as encoder:
        vectors, _ = encoder.vectors(list(queries.values()))
    found: dict[str, tuple[Run, list[float]]] = {}
    for method in index.methods:
        run: dict[str, dict[str, float]] = {}
        seconds = []
        for (id_, query), vector in zip(queries.items(), vectors, strict=True):
            started = time.perf_counter()
            hits = index.hits(index.ranking(method, query, vector, DEPTH))
            seconds.append(time.perf_counter() - started)
            run[id_] = {hit.id: hit.score for hit in hits}
        found[method] = run, seconds
    return found


def kinds_of(documents: Mapping[str, str], queries: Mapping[str, str], qrels: Qrels) -> dict[str, list[str]]:
    """Return kind -> queries: short and long ones, and those with and without rare words of what is relevant.

    Without: the half of the queries that share the fewest of their rare words with the documents they ask for.
    """
    words = analyzer("en")
    texts = {id_: set(words(text)) for id_, text in documents.items()}
    count = Counter(word for text in texts.values() for word in text)
    shared = {}
    for id_, query in queries.items():
        rare = {word for word in words(query) if count[word] <= RARE * len(texts)}
        relevant = [texts[document] for document in qrels.get(id_, ()) if document in texts]
        shared[id_] = float(np.mean([len(rare & text) / max(1, len(rare)) for text in relevant])) if relevant else 0.0
    middle = median(shared.values())
    return {
        "all": list(queries),
        "short": [id_ for id_, query in queries.items() if len(query.split()) <= SHORT_WORDS],
        "long": [id_ for id_, query in queries.items() if len(query.split()) > SHORT_WORDS],
        "words in common": [id_ for id_ in queries if shared[id_] >= middle],
        "few words in common": [id_ for id_ in queries if shared[id_] < middle],
    }


def by_kind(run: Run, qrels: Qrels, kinds: Mapping[str, Iterable[str]]) -> list[dict[str, Any]]:
    """Return the scores of a run for each kind of query that has judgments."""
    table = []
    for kind, ids in kinds.items():
        chosen = {id_: dict(qrels[id_]) for id_ in ids if id_ in qrels}
        if chosen:
            found = {id_: dict(run[id_]) for id_ in chosen}
            table.append({"queries": kind, **scores_of(found, chosen), "of": len(chosen)})
    return table


def scores_of(run: Run, qrels: Qrels) -> dict[str, float]:
    """Return MAP, MRR, nDCG@10 and recall@100; a query without any document found counts as 0."""
    import ir_measures
    from ir_measures import AP, RR, R, nDCG

    measures = {"map": AP, "mrr": RR, "ndcg_10": nDCG @ 10, "recall_100": R @ 100}
    found = ir_measures.calc_aggregate(list(measures.values()), qrels, run)
    return {name: float(found[measure]) for name, measure in measures.items()}
