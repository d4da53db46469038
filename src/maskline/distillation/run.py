"""Distillation: from a corpus and a teacher to a student that gives sentences vectors as the teacher does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_manifest, sweep, write_timing
from maskline.core.text import escape
from maskline.corpus.split import Split
from maskline.distillation.objective import DistillationObjective, Taught
from maskline.distillation.settings import DistillationSettings
from maskline.distillation.teacher import SPLITS, read_sentences, reduction, teacher_vectors, write_sentences
from maskline.examples.draws import key
from maskline.finetuning.run import load_pretrained
from maskline.inference.vectors import OpenEncoder, open_encoder
from maskline.model.directory import TokenizerFiles, data_table, export, model_card, read_shape
from maskline.pretraining.settings import PretrainParams
from maskline.tasks.similarity.model import SimilarityModel
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import files_for_model
from maskline.tokenization.texts import encode_texts
from maskline.training import distributed
from maskline.training.devices import (
    check_memory,
    choose_loaders,
    crowding,
    describe,
    memory_explained,
    place,
    with_precision,
)
from maskline.training.loop import Cadence, Metrics, train
from maskline.training.progress import process_reporter
from maskline.training.reports import write_reports
from maskline.training.states import REPORTS, ResumableRun, identity_of

STAGE = "distill"
LOG_EVERY = 10
"""Updates averaged in one row of the training curve."""


@dataclass(frozen=True)
class Paths:
    """What the command reads and writes."""

    corpus: Path
    tokenizer: Path
    """That of the student."""
    out: Path
    """Where the model goes, as `model`; beside it the sentences and the teacher's vectors of them stay."""
    reports: Path


@memory_explained()
def distill(
    settings: DistillationSettings,
    paths: Paths,
    device: torch.device,
    progress: Callable[[int], Callable[[int], None]] = lambda _: lambda _: None,
) -> None:
    """Teach a student what a teacher says of the sentences of a corpus; write the student, its curves and metrics.

    An interrupted run goes on, and what the teacher said is not computed twice.

    Args:
        settings: all that is read.
        paths: where from and where to.
        device: where to compute.
        progress: given how many sentences the teacher reads, returns what is told how many are done.

    Raises:
        UserError: teacher, student or corpus do not fit, training diverged, memory ran out, or it was interrupted.
    """
    recipe = with_precision(settings.recipe, device)
    teacher = open_teacher(Path(settings.distill.teacher), device)
    model = new_student(settings, paths.tokenizer)
    sentences = paths.out / "sentences"
    manifest = write_sentences(paths.corpus, [*map(Path, settings.distill.texts)], settings.language, sentences)
    identity = _identity(settings, recipe, paths, sentences)
    tokenizer, taught = load_tokenizer(paths.tokenizer), dict[Split, Taught]()
    for split in SPLITS:
        vectors = teacher_vectors(teacher, sentences / f"{split}.jsonl", paths.out / f"teacher-{split}", progress)
        texts = encode_texts(read_sentences(sentences, split), tokenizer, recipe.max_seq_length)
        taught[split] = Taught(texts, vectors)
    place(model, settings.compute, device)
    reduced = reduction(taught["train"].vectors, model.encoder.params.hidden)
    objective = DistillationObjective(
        model, taught["train"], taught["validation"], reduced, recipe, settings.seed, device
    )
    steps, every = settings.distill.steps, settings.distill.evaluate_every
    is_main = distributed.rank() == 0
    with (
        process_reporter(STAGE, steps, settings.compute) as reporter,
        ResumableRun(identity, reporter.say, exclusive=is_main) as run,
    ):
        counts = manifest["sentences"]
        reporter.say(
            f"{STAGE}: {counts['train']:,} sentences, {steps} steps of {recipe.global_batch} on {describe(device)} in "
            f"{recipe.precision}; {reduced.shape[0]} numbers of the teacher as {reduced.shape[1]}"
        )
        if crowded := crowding(device):
            reporter.say(f"{STAGE}: {crowded}")
        if is_main:
            for report in REPORTS:
                sweep(paths.reports / report)
        before = objective.evaluate()
        loaders = choose_loaders(settings.compute, device)
        result = train(
            objective, recipe, steps, Cadence(every, every, LOG_EVERY), settings.seed, run, reporter, loaders
        )
        if not is_main:
            return
        best = result.progress.best_row()
        model.load_state_dict(result.best_weights)
        _export(model, settings, paths, best, identity)
        more = {
            "before": before,
            "sentences": counts,
            "cut": {split: part.texts.cut for split, part in taught.items()},
        }
        write_reports(paths.reports, result.progress, objective, steps, more)
        write_timing(STAGE, result.progress.seconds)
        run.finish()


def open_teacher(directory: Path, device: torch.device) -> OpenEncoder:
    """Return the teacher in `directory`.

    Raises:
        UserError: there is none, or it is of an architecture that is none of ours.
    """
    if not (directory / MANIFEST).is_file():
        raise UserError(
            f"distill.teacher {directory} is no model of this pipeline (no {MANIFEST}): run the stage that writes it, "
            "or import one of others first (docs/distillation.md)"
        )
    return open_encoder(directory, device)


def new_student(settings: DistillationSettings, tokenizer: Path) -> SimilarityModel:
    """Return the student before its first update: random weights, or those of `init_from` and their shape.

    Raises:
        UserError: there is no such model, it has another tokenizer, or it reads fewer tokens than the run has.
    """
    start = Path(settings.distill.init_from) if settings.distill.init_from else None
    if start and not (start / MANIFEST).is_file():
        raise UserError(
            f"distill.init_from {start} is no model of this pipeline (no {MANIFEST}): run `dvc repro pretrain`, or set "
            "it to null for random weights"
        )
    shape = (read_shape(start) if start else read_shape(tokenizer)) or (settings.model, 0)
    params, vocab_size = shape[0], load_tokenizer(tokenizer).vocab_size
    if settings.distill.max_seq_length > params.max_positions:
        raise UserError(
            f"distill.max_seq_length {settings.distill.max_seq_length} is longer than the {params.max_positions} "
            "tokens that the student reads: shorten it"
        )
    params = params.model_copy(update={"dropout": settings.model.dropout})
    check_memory(params, vocab_size)
    model = SimilarityModel(params, vocab_size)
    model.reset(torch.Generator().manual_seed(int(key(settings.seed, "weights")[0] >> 1)))
    if start:
        load_pretrained(model, start, tokenizer)
    return model


def _identity(settings: DistillationSettings, recipe: PretrainParams, paths: Paths, sentences: Path) -> dict[str, Any]:
    chosen = settings.distill.model_dump(exclude={"teacher", "init_from", "texts"})  # known by their content, below
    params = {"seed": settings.seed, "model": settings.model.model_dump(), "distill": chosen}
    inputs = {"sentences": sentences, "tokenizer": paths.tokenizer, "teacher": Path(settings.distill.teacher)}
    if settings.distill.init_from:
        inputs["init_from"] = Path(settings.distill.init_from)
    return identity_of(STAGE, params | {"recipe": recipe.model_dump()}, inputs)


def _export(
    model: SimilarityModel,
    settings: DistillationSettings,
    paths: Paths,
    metrics: Metrics,
    identity: dict[str, Any],
) -> None:
    manifest = read_manifest(Path(settings.distill.teacher), "imported@encoder")
    origin: Mapping[str, Any] = manifest.get("origin", {})
    data = data_table(read_manifest(paths.corpus, "fetch"))
    shape, read = model.encoder.params, read_shape(Path(settings.distill.teacher))
    assert read is not None, "every directory of a model, and of a graph, has a config"
    taught = read[0]
    start = "the weights of pretraining" if settings.distill.init_from else "random weights"
    note = (
        f"An encoder that gives a sentence a vector, the mean over its tokens, as a teacher of {taught.layers} layers "
        f"of {taught.hidden} does; distilled by maskline from {start} on unlabelled sentences. `AutoModel`, or "
        "`SentenceTransformer` of sentence-transformers, loads it. Below is how well it follows the teacher on "
        "sentences that are held out."
    )
    tables: dict[str, dict[str, Any]] = {
        "Validation": metrics,
        "Data": data,
        "Origin of the teacher": {**origin},
        "Model": shape.model_dump(),
        "Training": {"seed": settings.seed, **settings.recipe.model_dump()},
        "SHA-256 of the inputs' manifests and of the source": identity["inputs"] | {"source": identity["source"]},
    }
    title = f"maskline {model.architecture.title}, distilled ({escape(settings.language)})"
    card = model_card(title, settings.language, tables, note, shape.architecture)
    files = TokenizerFiles(
        *files_for_model(paths.tokenizer, shape.max_positions, segments=shape.next_sentence, fills_masks=False)
    )
    provenance = {**identity, "data": data}
    if origin:
        provenance["origin"] = {f"teacher's {key}": value for key, value in origin.items()}
    kind = {"maskline": {"kind": "similarity"}}  # so that `predict` compares two texts by it
    export(paths.out / "model", model, model.exported_as, files, card, provenance, kind)
