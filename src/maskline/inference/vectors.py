"""Files of texts as files of vectors, at any size: in memory is one chunk of texts, its tokens and vectors."""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from maskline.core.storage import source_fingerprint
from maskline.graphs.directory import is_graph, open_graph
from maskline.inference.documents import Columns, Document, chunks, find_files, read_documents
from maskline.inference.embedding import GraphPooler, Pooler, Pooling, TorchPooler, embed_by
from maskline.inference.growing import Growing, check_replaceable
from maskline.inference.identity import hashes_of
from maskline.inference.shares import Share, is_whole, join
from maskline.records.files import describe
from maskline.tokenization.load import LoadedTokenizer, load_tokenizer

if TYPE_CHECKING:
    import torch

Dtype = Literal["float32", "float16"]
Format = Literal["parquet", "npy"]
Vectors = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class VectorSettings:
    """What stands for a text, and how it is written."""

    pooling: Pooling = "mean"
    normalized: bool = False
    """Whether each vector has the length 1, so that a product of two is their cosine."""
    dtype: Dtype = "float32"


@dataclass(frozen=True)
class OpenEncoder:
    """A model and its tokenizer, and by which hashes they are known."""

    pooler: Pooler
    tokenizer: LoadedTokenizer
    hashes: Mapping[str, str]
    """`model` and `tokenizer` -> SHA-256."""

    def vectors(self, texts: list[str], settings: VectorSettings) -> tuple[Vectors, int]:
        """Return the vectors of `texts`, (N, D), and how many texts were cut."""
        found = embed_by(self.pooler, self.tokenizer, texts, settings.pooling)
        vectors = found.vectors
        if settings.normalized:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return vectors.astype(settings.dtype), found.cut


def open_encoder(directory: Path, device: "torch.device | str" = "cpu") -> OpenEncoder:
    """Return the model in `directory`: pretrained, fine-tuned as a whole or merged, imported, or a graph.

    Of these a graph needs no torch, and runs on the CPU.

    Raises:
        UserError: the directory is incomplete or damaged, or holds no whole model.
    """
    if is_graph(directory):
        graph = GraphPooler(open_graph(directory))
        return OpenEncoder(graph, load_tokenizer(directory), hashes_of(directory))
    import torch

    from maskline.adapters.directory import is_tuned
    from maskline.core.errors import UserError
    from maskline.model.directory import load_encoder

    if is_tuned(directory):
        raise UserError(
            f"{directory} holds what was trained on an encoder, and no whole model: merge lora or a probe with "
            "`python -m pipeline.merge`, or name another directory"
        )
    pooler = TorchPooler(load_encoder(directory).to(device), torch.device(device))
    return OpenEncoder(pooler, load_tokenizer(directory), hashes_of(directory))


Write = Callable[[Growing, list[Document], Vectors], None]
"""What appends a chunk of documents with their vectors, (N, D)."""


def grow(
    growing: Growing,
    documents: Iterable[Document],
    text_of: Callable[[Document], str],
    model: OpenEncoder,
    settings: VectorSettings,
    write: Write,
    advance: Callable[[int], None],
) -> None:
    """Embed the documents that are not in `growing` yet, chunk by chunk; `advance` is told how many are done."""
    done = growing.counts.get("texts", 0)
    advance(done)
    for chunk in chunks(islice(documents, done, None)):
        vectors, cut = model.vectors([text_of(document) for document in chunk], settings)
        write(growing, chunk, vectors)
        growing.commit(texts=len(chunk), cut=cut, chunks=1)
        advance(growing.counts["texts"])


def write_vectors(
    paths: Sequence[Path],
    out: Path,
    model: OpenEncoder,
    settings: VectorSettings,
    file_format: Format = "parquet",
    columns: Columns = Columns(),  # noqa: B008  # it is frozen
    progress: Callable[[int], Callable[[int], None]] = lambda _: lambda _: None,
    share: Share = Share(),  # noqa: B008
) -> dict[str, Any] | None:
    """Write the vectors of all texts in files to the directory `out`, in their order; return its manifest.

    As Parquet they are `vectors-00000.parquet` and so on, with the columns `id` and `vector`; as NumPy `vectors.npy`,
    (N, D), and `ids.jsonl`, an id as a JSON string in each line. All input is read once before anything is computed,
    so that what is malformed stops at once. A process that was killed goes on when it is called with the same again.
    Of several processes each embeds its share; the last one writes `out`, as one alone would, the others return None.

    Args:
        paths: files of texts, or directories of them.
        out: replaced when it exists.
        model: what makes the vectors.
        settings: what stands for a text.
        file_format: of the vectors.
        columns: where ids and texts stand in records.
        progress: given how many texts there are, returns what is told how many are done.
        share: of the work, that is this process's.

    Raises:
        UserError: a file is not what it should be, or `out` may not be replaced.
    """
    files = find_files(paths)
    sizes = [len(chunk) for chunk in chunks(read_documents(files, columns))]
    count, mine = sum(sizes), share.of(len(sizes))
    shape = {"texts": count, "dimensions": model.pooler.dimensions}
    about = {
        **asdict(settings),
        "format": file_format,
        **shape,
        **model.hashes,
        "columns": asdict(columns),
        "inputs": describe(files),
    }
    first, texts = sum(sizes[: mine.start]), sum(sizes[mine.start : mine.stop])
    write = partial(_write_parquet, mine.start) if file_format == "parquet" else partial(_write_npy, count, first)
    identity = {**about, "source": source_fingerprint()}

    def fill(place: Path, identity: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
        documents = islice(read_documents(files, columns), first, first + texts)
        with Growing(place, identity) as growing:
            grow(growing, documents, lambda document: document.text, model, settings, write, progress(texts))
            manifest = {**about, "cut": growing.counts.get("cut", 0)}
            growing.finish(manifest)
        return manifest

    if share.count == 1:
        return fill(out, identity, about)
    check_replaceable(out)
    own = {**identity, "share": asdict(share)}
    if not is_whole(share.directory(out), own):
        fill(share.directory(out), own, own)
    return join(out, share, identity, about, ["cut"])


def _write_parquet(first: int, growing: Growing, documents: list[Document], vectors: Vectors) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    table = pa.table({"id": pa.array([document.id for document in documents], pa.string()), "vector": column})
    content = io.BytesIO()
    pq.write_table(table, content, compression="none", use_dictionary=False)  # numbers like these do not shrink
    growing.append(f"vectors-{first + growing.counts.get('chunks', 0):05d}.parquet", content.getvalue())


def _write_npy(count: int, first: int, growing: Growing, documents: list[Document], vectors: Vectors) -> None:
    append_rows(growing, "vectors.npy", vectors, count, first)
    lines = "".join(json.dumps(document.id, ensure_ascii=False) + "\n" for document in documents)
    growing.append("ids.jsonl", lines.encode())


def append_rows(growing: Growing, name: str, rows: NDArray[Any], count: int, first: int = 0) -> None:
    """Append `rows` to a file of NumPy that will have `count` of them, or to its part that begins at row `first`."""
    content = io.BytesIO()
    if not first and not growing.counts.get("texts"):
        header = {"descr": np.lib.format.dtype_to_descr(rows.dtype), "fortran_order": False}
        np.lib.format.write_array_header_1_0(content, {**header, "shape": (count, *rows.shape[1:])})
    content.write(np.ascontiguousarray(rows).tobytes())
    growing.append(name, content.getvalue())
