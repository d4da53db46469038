"""Sections of the page of a run: what was run, on which corpus, cut by which tokenizer."""

from pathlib import Path

from maskline.core.storage import MANIFEST, read_csv, read_json
from maskline.page import changes, figures
from maskline.page.cells import count_cell, score_cell, whole
from maskline.page.document import Section, grid
from maskline.page.elements import code, folded, paragraph, text
from maskline.page.elements import table as html_table
from maskline.page.source import Source
from maskline.reporting.comparison import written
from maskline.reporting.scores import flatten
from maskline.reporting.series import read_series, to_series

MOST_PAIRS = 60
"""Near duplicates that the page shows."""


def what(source: Source) -> Section:
    """Return what was run: the parameters that differ from the reference first, then all."""
    ours, theirs = source.params, source.reference_params
    keys = source.changes()
    if source.reference is None:
        content = paragraph("No committed run to hold it against; all parameters:")
    elif keys:
        rows = [
            [code(key), *(code(written(params.get(key))) for params in (ours, theirs))]
            for key in changes.shown(keys, ours, theirs)
        ]
        content = html_table("Parameters that differ from the committed run", ("key", "this run", "committed"), rows)
    else:
        content = paragraph("No parameter differs from the committed run.")
    rows = [[code(key), code(written(value))] for key, value in ours.items()]
    everything = html_table("All parameters", ("key", "value"), rows)
    return Section("run", "What was run", content + folded(f"All {len(rows)} parameters", everything, "params"))


def corpus(source: Source) -> Section:
    """Return what came in, what was dropped and why."""
    folder = source.reports / "corpus"
    facts, rows = read_json(folder / "metrics.json"), read_csv(folder / "articles.csv")
    amounts = to_series(rows, ["articles"], str(folder / "articles.csv"))["articles"]
    counts = [
        (name.replace("_", " "), int(count), name in {"train", "validation"})
        for name, count in zip((row.get("outcome", "") for row in rows), amounts, strict=True)
        if count > 0
    ]
    drawn = [
        figures.outcomes("corpus-outcomes", "Articles: kept and dropped", counts),
        figures.histogram(
            "corpus-lengths", "Length", "characters", list(zip(*_columns(folder / "lengths.csv"), strict=True))
        ),
    ]
    sentences = source.reports / "tokenize" / "sentences.csv"
    if sentences.is_file():
        splits = read_series(sentences, ("sentences", "train", "validation"))
        totals = [
            (bound, train + validation)
            for bound, train, validation in zip(splits["sentences"], splits["train"], splits["validation"], strict=True)
        ]
        drawn.append(figures.histogram("corpus-sentences", "Sentences", "sentences", totals))
    dropped = {reason.replace("_", " "): count for reason, count in facts.get("dropped", {}).items()}
    content = paragraph(
        f"{whole(facts.get('read'))} articles came in, {whole(facts.get('articles'))} were kept: "
        f"{whole(facts.get('words'))} words, {whole(facts.get('characters'))} characters."
    )
    content += grid(drawn)
    content += '<div class="grid">' + html_table(
        "Dropped", ("reason", "articles"), [[text(reason), count_cell(count)] for reason, count in dropped.items()]
    )
    content += _manifest(source, "data/corpus") + "</div>"
    pairs = read_csv(folder / "duplicates.csv") if (folder / "duplicates.csv").is_file() else []
    if pairs:
        header = list(pairs[0])
        shown = [[text(value) for value in row.values()] for row in pairs[:MOST_PAIRS]]
        left = f", the first {MOST_PAIRS} of {len(pairs):,}" if len(pairs) > MOST_PAIRS else ""
        content += folded(
            "Near duplicates", html_table(f"Near duplicates{left}", list(map(text, header)), shown), "near"
        )
    return Section("corpus", "Corpus", content, drawn, source.pictures("corpus"))


def _columns(path: Path) -> tuple[list[float], list[float]]:
    columns = read_series(path, ("characters", "articles"))
    return columns["characters"], columns["articles"]


def _manifest(source: Source, directory: str) -> str:
    """Return what a manifest says of where its data come from; nothing where there is none."""
    path = source.folder / directory / MANIFEST
    if not path.is_file():
        return ""
    manifest = read_json(path)
    facts = {**manifest.get("provenance", {}), "licence": manifest.get("licence")}
    rows = [[text(key), code(written(value))] for key, value in flatten(facts).items() if value is not None]
    return html_table("Where it comes from", ("fact", "value"), rows)


def tokenizer(source: Source) -> Section:
    """Return how the vocabulary cuts text."""
    facts = read_json(source.reports / "tokenizer" / "metrics.json")
    rows = [[text(key.replace("_", " ")), score_cell(value)] for key, value in flatten(facts).items()]
    content = html_table("On the validation split", ("measured", "value"), rows)
    counts = read_json(source.reports / "tokenize" / "metrics.json")
    splits = list(counts)
    names = list(dict.fromkeys(name for split in counts.values() for name in split))
    rows = [
        [text(name.replace("_", " ")), *(score_cell(counts[split].get(name)) for split in splits)] for name in names
    ]
    content += html_table("Sentences and tokens", ("counted", *map(text, splits)), rows)
    return Section("tokenizer", "Tokenizer", f'<div class="grid">{content}</div>')
