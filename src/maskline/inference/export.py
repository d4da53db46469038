"""A trained model as a graph that runs without torch: written if it computes the same, in int8 if it is good enough."""

# Dimensions: B sequences, T tokens of the longest, D hidden, V vocabulary.

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import maskline.tasks
from maskline.adapters.directory import TunedModel, read
from maskline.core.errors import UserError, one_line
from maskline.core.storage import (
    INCOMPLETE,
    MANIFEST,
    fresh_directory,
    read_manifest,
    write_bytes,
    write_json,
    write_manifest,
    write_text,
)
from maskline.dataset.read import read_dataset
from maskline.examples.batches import by_length
from maskline.finetuning.use import token_means
from maskline.graphs.cpu import cpu_flags
from maskline.graphs.directory import ABOUT, CONFIG, GRAPH, INPUTS, RuntimeGraph, is_graph, require
from maskline.graphs.quantize import SCHEMES, Scheme, quantize
from maskline.graphs.trace import STATES, Outputs, trace
from maskline.inference.documents import Columns, find_files, read_documents
from maskline.inference.identity import hashes_of
from maskline.inference.predict import find_kind, use_of
from maskline.model.attention import Layout
from maskline.model.directory import SavedModel, load_pretraining_model
from maskline.model.heads import EncoderModel, PretrainingModel
from maskline.model.inputs import layout_of, move
from maskline.model.modes import evaluating
from maskline.tokenization.load import LoadedTokenizer, load_tokenizer
from maskline.tokenization.texts import EncodedTexts, Packed, encode_texts

TOLERANCE = 1e-4
"""The most by which an output of the graph may differ from that of torch, as a share of its largest number if that is
above 1: the scores of a vocabulary are rounded where they are large."""
LEAST_COSINE = 0.99
MOST_LOST = 0.005
"""What the score of the task may lose: half a point."""
MOST_BYTES = 0.27
"""Share of the bytes of float32."""
MOST_WEIGHTS = 2_000_000_000
"""Bytes of float32: a file of protobuf ends at 2 GiB."""
COMPARED_TEXTS = 500
"""Texts that vectors are compared on, the first ones."""
BATCH_TOKENS = 2048
TOKENIZER_FILES = {"tokenizer.json", "tokenizer_config.json", "vocab.txt"}


@dataclass(frozen=True)
class Quality:
    """What a graph in int8 is, beside the same in float32."""

    scheme: Scheme
    cosine: float
    """The mean, of the vectors of texts: means over their tokens."""
    size: float
    """Its bytes as a share of those in float32."""
    metric: str | None
    """The name of its task's score; None: it has no task, and then no score."""
    score: float | None
    float_score: float | None

    def failures(self) -> list[str]:
        """Return what is not good enough, as texts."""
        found = []
        if not self.cosine >= LEAST_COSINE:  # NaN is none
            found.append(f"cosine {self.cosine:.4f}, below {LEAST_COSINE}")
        if self.score is not None and self.float_score is not None and not self.score >= self.float_score - MOST_LOST:
            found.append(f"{self.metric} {self.score:.4f}, {self.float_score:.4f} in float32")
        if not self.size <= MOST_BYTES:
            found.append(f"{self.size:.3f} of the bytes, above {MOST_BYTES}")
        return found


@dataclass(frozen=True)
class Exported:
    """What was written."""

    bytes: int
    difference: float
    """From torch, in float32."""
    quality: Quality | None
    """None: it is float32."""


@dataclass(frozen=True)
class Network:
    """A model with what a graph of it needs."""

    directory: Path
    stage: str
    config: Mapping[str, Any]
    model: EncoderModel
    kind: str | None
    outputs: Outputs
    tokenizer: LoadedTokenizer

    def graph(self, content: Any) -> RuntimeGraph:
        """Return `content`, an `onnx.ModelProto` of this network, ready for use."""
        return RuntimeGraph(self.directory, self.config, self.kind, content.SerializeToString()).open()


def export_graph(
    directory: Path, out: Path, *, int8: bool = False, data: Path | None = None, encoder: Path | None = None
) -> Exported:
    """Write the graph of the model in `directory` to `out`, a new directory, with tokenizer, configuration and card.

    Args:
        directory: of a model of any kind: pretrained, imported, fine-tuned as a whole or on an encoder.
        out: where the graph goes; what a killed export left there is replaced.
        int8: whether it is quantized, which is done per tensor and per channel; the better one is kept.
        data: what int8 is measured on: of a fine-tuned model the examples of its task, by their validation split; of
            another one files of texts. None: `data/tasks/NAME` or `data/corpus`.
        encoder: what a model of adapters, lora or probe stands on; None: the directory that it names.

    Raises:
        UserError: a directory is not what it should be, `out` is there already, the graph computes something else than
            torch, or int8 is not good enough; then nothing is written.
    """
    if out.exists() and not (out / INCOMPLETE).is_file():
        raise UserError(f"{out} is there already: name another directory with --out")
    if is_graph(directory):
        raise UserError(f"{directory} is a graph already: name the directory of a model")
    require("onnx", "onnxscript", "onnxruntime")
    network = open_network(directory, encoder)
    if (size := sum(weight.nbytes for weight in network.model.parameters())) > MOST_WEIGHTS:
        raise UserError(
            f"{directory} has weights of {size:,} bytes, and a graph in one file has room for {MOST_WEIGHTS:,}: use "
            "the model as it is"
        )
    measure = _measure(network, data) if int8 else None  # before the graph, which takes longer
    plain = trace(network.model, network.outputs)
    difference = _difference(network, network.graph(plain))
    if not difference <= TOLERANCE:
        raise UserError(
            f"the graph of {directory} differs from torch by {difference:.1e}, more than {TOLERANCE}: nothing was "
            "written; use the model as it is"
        )
    content, quality = plain, None
    if measure is not None:
        content, quality = _quantized(network, plain, measure)
    raw = content.SerializeToString()
    _write(network, out, raw, difference, quality)
    return Exported(len(raw), difference, quality)


def open_network(directory: Path, encoder: Path | None = None) -> Network:
    """Return the model in `directory`; what was trained on an encoder is merged with it where that can be."""
    stage = f"finetune@{directory.name}"
    saved: SavedModel = read(directory, stage, encoder)
    tokenizer = load_tokenizer(directory)
    if any(name.startswith(saved.names.mlm) for name in saved.weights):
        pretrained = load_pretraining_model(directory)
        outputs = _pretraining_outputs(pretrained)
        return Network(directory, stage, saved.config, pretrained, None, outputs, tokenizer)
    kind, use = find_kind(saved.config), use_of(saved.config, directory)
    if isinstance(saved, TunedModel) and saved.tuning.method != "adapters":
        saved = saved.merged()
    network = use.load(saved)
    return Network(
        directory, stage, saved.config, network, kind, lambda *given: use.graph_outputs(network, *given), tokenizer
    )


def _pretraining_outputs(model: PretrainingModel) -> Outputs:
    def outputs(x: Tensor, layout: Layout, mask: Tensor) -> dict[str, Tensor]:
        found = {"logits": model.mlm(x).view(*mask.shape, -1)}
        if model.nsp is not None:
            found["seq_relationship_logits"] = model.nsp(model.encoder.pool(x, layout))
        return found

    return outputs


def _difference(network: Network, graph: RuntimeGraph) -> float:
    """Return the largest difference between the graph and torch, as TOLERANCE has it, for batches of several shapes.

    Torch reads each sequence alone, the graph all of a batch, with padding.
    """
    draws = np.random.default_rng(0)
    encoder, largest = network.model.encoder, 0.0
    longest = encoder.params.max_positions
    for lengths in ([1], [longest], [2, 5, 3], [min(17, longest)] * 2):
        sizes = np.array(lengths)
        ids = draws.integers(0, encoder.vocab_size, sizes.sum())
        types = draws.integers(0, 2, sizes.sum())
        ends = np.cumsum(sizes)
        expected = [
            _outputs_of(network, ids[end - size : end], types[end - size : end])
            for size, end in zip(sizes, ends, strict=True)
        ]
        for name, padded in zip(expected[0], graph.padded(Packed(ids, sizes, types), *expected[0]), strict=True):
            for row, values in zip(padded, expected, strict=True):
                found = row[tuple(map(slice, values[name].shape))]  # without the padding, where it is one of tokens
                scale = max(1.0, float(np.abs(values[name]).max()))
                largest = max(largest, float(np.abs(found - values[name]).max()) / scale)
    return largest


@torch.inference_mode()
def _outputs_of(network: Network, ids: NDArray[np.int64], types: NDArray[np.int64]) -> dict[str, NDArray[np.float32]]:
    """Return what torch computes of one sequence, by the names of the outputs."""
    cpu, model = torch.device("cpu"), network.model
    layout = layout_of(np.array([len(ids)]), cpu)
    with evaluating(model):
        x = model.encoder(move(ids, cpu), move(types, cpu), layout)
        found = {STATES: x[None], **network.outputs(x, layout, torch.ones(1, len(ids), dtype=torch.bool))}
    return {name: value[0].numpy() for name, value in found.items()}


@dataclass(frozen=True)
class _Measure:
    """What a graph in int8 is measured by."""

    texts: EncodedTexts
    metric: str | None
    score: Callable[[RuntimeGraph], float | None]
    """The score of the task that a graph has."""

    def vectors(self, graph: RuntimeGraph) -> NDArray[np.float32]:
        """Return the vectors of the first texts, (COMPARED_TEXTS, D), each of length 1."""
        batches = [*by_length(self.texts.sizes[:COMPARED_TEXTS], BATCH_TOKENS)]
        found = []
        for rows in batches:
            batch = self.texts.packed(rows)
            (states,) = graph.of_tokens(batch, STATES)
            found.append(token_means(states, batch.lengths))
        vectors = np.concatenate(found)  # in the order of the batches, which is that of all graphs
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


def _measure(network: Network, data: Path | None) -> _Measure:
    """Return what int8 is measured by: of a task its validation split, else texts.

    Raises:
        UserError: the data are not there, or not of the model's task.
    """
    name, recipe = task_and_recipe(read_manifest(network.directory, network.stage))
    if network.kind is None or recipe is None:
        return _Measure(_texts(network, data or Path("data/corpus")), None, lambda _: None)
    place = data or Path("data/tasks") / name
    absent = UserError(
        f"{place} holds no examples of the task, on which int8 is measured: name their directory with --data"
    )
    if not (place / MANIFEST).is_file():
        raise absent
    settings = import_module(f"{maskline.tasks.__name__}.{network.kind}.settings").Settings
    make_task = import_module(f"{maskline.tasks.__name__}.{network.kind}.task").make_task
    try:
        dataset = read_dataset(place, place.name)
    except (LookupError, FileNotFoundError):  # another stage wrote it
        raise absent from None
    try:
        chosen = settings.model_fields["finetune"].annotation.model_validate(recipe)
        task = make_task(chosen, dataset.manifest)
    except (LookupError, TypeError, ValueError) as error:
        raise UserError(f"{place} holds examples of another kind of task ({one_line(error)}): name others") from None
    if any(network.config.get(key) != value for key, value in task.config().items()):
        raise UserError(f"{place} holds examples of another task than that of {network.directory}: name others")
    encoded = task.encode(dataset.splits["validation"], network.tokenizer, chosen.max_seq_length)
    score = use_of(network.config, network.directory).graph_scorer
    criterion = task.criterion
    return _Measure(
        encoded.texts,
        criterion,
        lambda graph: float(task.scores(encoded, task.predict_by(score(graph), encoded))[criterion]),
    )


def task_and_recipe(manifest: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    """Return for which task a model was fine-tuned, alone or with others, and by which recipe; None: for none."""
    params = manifest.get("params", {})
    if "tasks" in params:
        return manifest["task"], params["tasks"][manifest["task"]]
    return manifest.get("stage", "").rpartition(" ")[2], params.get("finetune")


def _texts(network: Network, data: Path) -> EncodedTexts:
    if not data.exists():
        raise UserError(f"{data} is missing, and int8 is measured on texts: name files of them with --data")
    documents = read_documents(find_files([data]), Columns())
    texts = [document.text for document in islice(documents, COMPARED_TEXTS)]
    return encode_texts(texts, network.tokenizer, network.model.encoder.params.max_positions)


def _quantized(network: Network, plain: Any, measure: _Measure) -> tuple[Any, Quality]:
    """Return the better graph in int8 of those that are good enough, and what it is.

    Raises:
        UserError: none is.
    """
    in_float = network.graph(plain)
    expected, float_score, size = measure.vectors(in_float), measure.score(in_float), plain.ByteSize()
    found: list[tuple[Any, Quality]] = []
    for scheme in SCHEMES:
        content = quantize(plain, scheme)
        graph = network.graph(content)
        cosine = float((measure.vectors(graph) * expected).sum(1).mean())
        score = measure.score(graph)
        quality = Quality(scheme, cosine, content.ByteSize() / size, measure.metric, score, float_score)
        found.append((content, quality))
    good = [pair for pair in found if not pair[1].failures()]
    if not good:
        reasons = "; ".join(f"per {quality.scheme} {', '.join(quality.failures())}" for _, quality in found)
        raise UserError(
            f"int8 of {network.directory} is not good enough ({reasons}): nothing was written; leave out --int8"
        )
    return max(good, key=lambda pair: pair[1].cosine)


def _write(network: Network, out: Path, raw: bytes, difference: float, quality: Quality | None) -> None:
    flags = cpu_flags()
    manifest = read_manifest(network.directory, network.stage)
    fresh_directory(out)
    write_bytes(out / GRAPH, raw)
    write_json(out / CONFIG, network.config)
    for name in manifest["files"].keys() & TOKENIZER_FILES:
        write_bytes(out / name, (network.directory / name).read_bytes())
    card = (network.directory / "README.md").read_text(encoding="utf-8")
    write_text(out / "README.md", f"{card.rstrip()}\n\n{_section(flags, difference, quality)}")
    about = {"kind": network.kind, "precision": "int8" if quality else "float32", "cpu_flags": flags}
    write_manifest(
        out,
        {
            ABOUT: about,
            "difference": difference,
            "quality": asdict(quality) if quality else None,
            "inputs": hashes_of(network.directory),
            "versions": {name: version(name) for name in ("onnx", "onnxruntime", "torch")},
        },
    )


def _section(flags: list[str], difference: float, quality: Quality | None) -> str:
    """Return what the card says of the graph."""
    rows = {
        "inputs": ", ".join(f"`{name}`" for name in INPUTS) + " (batch, sequence), integers",
        "largest difference of float32 from torch": f"{difference:.1e}",
        "processor of the export": ", ".join(flags) or "its flags are not known",
    }
    if quality:
        rows["int8"] = f"per {quality.scheme}, each token by its own range"
        rows["mean cosine with float32"] = f"{quality.cosine:.4f}"
        rows["bytes, as a share of float32"] = f"{quality.size:.3f}"
        if quality.metric:
            rows[f"{quality.metric}, validation"] = f"{quality.score:.4f} (float32 {quality.float_score:.4f})"
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(
        ["## Graph", "", f"`{GRAPH}` runs on ONNX Runtime, without torch.", "", "| | |", "|---|---|", *lines, ""]
    )
