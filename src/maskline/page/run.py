"""The page of one run: what was run, on what, and what came of it, from what its stages left."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, TIMINGS, read_csv, read_json
from maskline.page import changes, figures
from maskline.page.curves import Training, number, read_training, seconds_of, table
from maskline.page.document import Figure, Page, Section, controls, place
from maskline.page.elements import Cell, code, folded, paragraph, text
from maskline.page.elements import table as html_table
from maskline.page.markdown import cards
from maskline.reporting.comparison import COMPUTE, written
from maskline.reporting.lock import Stages
from maskline.reporting.runs import LOCK, parameters
from maskline.reporting.scores import SCORE, TASKS, Scores, flatten, read_task
from maskline.reporting.series import read_series, to_series
from maskline.reporting.tables import PREDICTIONS, format_number
from maskline.reporting.task_figures import baselines

PANELS = {
    "mlm_loss": ("Masked tokens (MLM): loss", "nats per masked token"),
    "nsp_loss": ("Next sentence (NSP): loss", "nats per pair"),
    "mlm_accuracy": ("Masked tokens (MLM): accuracy", "share of the masked tokens"),
    "nsp_accuracy": ("Next sentence (NSP): accuracy", "share of the pairs"),
}
"""Column of the pretraining curves -> title and unit."""
AGAINST = {
    "mlm_loss": "mlm.unigram_loss",
    "mlm_accuracy": "mlm.unigram_accuracy",
    "nsp_accuracy": "nsp.overlap_accuracy",
}
"""Column of the pretraining curves -> key of the metric that it is held against."""
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "pyarrow", "scikit-learn", "dvc")
"""Packages whose version may change a number."""
MOST_TABLE = 60
"""Rows of a table of a task that the page shows."""
MOST_CARDS = 3
"""Numbers of a task that stand above everything."""
DATA = ("data/corpus", "data/tokenizer", "data/tokens/train", "data/tokens/validation", "data/validation")
"""Directories of a run with a manifest, before its models."""
STARTS = {"finetune": "pretrained", "scratch": "random weights"}
"""Stage that trains on a task -> where it starts."""


@dataclass(frozen=True)
class Source:
    """A run, where it lies and how it was set."""

    folder: Path
    settings: Mapping[str, Any]
    """Name of a settings file -> its content."""
    reference: Mapping[str, Any] | None
    """The settings that the run is held against; None where there are none."""

    @property
    def reports(self) -> Path:
        """Where its stages wrote metrics and curves."""
        return self.folder / "reports"

    @property
    def tasks(self) -> list[str]:
        """The tasks that are switched on."""
        return list(self.settings["params.yaml"].get("tasks") or {})

    @property
    def params(self) -> dict[str, Any]:
        """Its parameters under dotted keys."""
        return parameters(self.settings, "the run")

    @property
    def reference_params(self) -> dict[str, Any]:
        """Those of the reference; its own where there is none."""
        return self.params if self.reference is None else parameters(self.reference, "the reference")

    def changes(self) -> list[str]:
        """Return the keys of the parameters that differ from the reference."""
        ours, theirs = self.params, self.reference_params
        keys = [key for key in dict.fromkeys([*theirs, *ours]) if not key.startswith(COMPUTE)]
        return [key for key in keys if ours.get(key) != theirs.get(key)]

    @cached_property
    def stages(self) -> Stages:
        """What its lock says."""
        lock = self.folder / LOCK
        return Stages(lock.read_text(encoding="utf-8") if lock.is_file() else None, self.settings)

    def scores(self) -> tuple[dict[str, Scores], list[str]]:
        """Return the scores of this run, "" for those of pretraining, and a line for each that is not there."""
        found, missing = dict[str, Scores](), []
        for task in ("", *self.tasks):
            stage = f"score@{task}" if task else "evaluate"
            if not self.stages.is_current(stage):
                missing.append(stale([stage]))
                continue
            try:
                found[task] = read_task(self.reports, task)
            except UserError as error:
                missing.append(self.said(error))
        return found, missing

    def said(self, error: UserError) -> str:
        """Return an error as it is said in the folder of the run, wherever that lies."""
        return str(error).replace(f"{self.folder}/", "")

    def seconds(self, stage: str) -> float | None:
        """Return how long a stage took."""
        return seconds_of(self.folder, TIMINGS, stage)


def run_page(source: Source) -> Page:
    """Return the page of a run; see `run_sections`."""
    return Page("A run of maskline", lead(source), run_sections(source))


def run_sections(source: Source) -> list[Section]:
    """Return the parts of the page of a run.

    A part that a stage has not written, or wrote under other parameters, is replaced by a line that says so.

    Raises:
        UserError: nothing has been run.
    """
    if not (source.reports / "corpus").is_dir():
        raise UserError(f"{source.reports} has no reports of a run: `dvc repro` makes them")
    parts: list[tuple[str, str, Sequence[str], Callable[[Source], Section]]] = [
        ("corpus", "Corpus", ["fetch"], corpus),
        ("tokenizer", "Tokenizer", ["tokenizer", "tokenize"], tokenizer),
        ("pretraining", "Pretraining", ["pretrain"], pretraining),
        *(
            (
                f"training-{place}",
                f"Fine-tuning: {task}",
                [f"finetune@{task}", f"scratch@{task}"],
                _of(finetuning, task, place),
            )
            for place, task in enumerate(source.tasks)
        ),
        ("numbers", "Numbers and what they are held against", [], numbers),
        *(
            (f"task-{place}", f"Task: {task}", [f"score@{task}"], _of(task_page, task, place))
            for place, task in enumerate(source.tasks)
        ),
        ("samples", "What the model puts in place of a word", ["evaluate"], samples),
    ]
    sections = [what(source)]
    for key, title, needed, build in parts:
        sections.append(_built(source, key, title, needed, build))
    return [*sections, provenance(source)]


def _of(build: Callable[[Source, str, int], Section], task: str, place_: int) -> Callable[[Source], Section]:
    return lambda source: build(source, task, place_)


def _built(
    source: Source,
    key: str,
    title: str,
    needed: Sequence[str],
    build: Callable[[Source], Section],
) -> Section:
    if former := [stage for stage in needed if not source.stages.is_current(stage)]:
        return Section(key, title, paragraph(text(stale(former)), "note"))
    try:
        return build(source)
    except UserError as error:
        return Section(key, title, paragraph(text(source.said(error)), "note"))


def stale(stages: Sequence[str]) -> str:
    """Return what is said in place of what former stages left."""
    return f"{', '.join(stages)}: not run with these parameters, or not on what the stages before made"


def lead(source: Source) -> str:
    """Return what stands above everything: the model and its numbers."""
    model = source.settings["params.yaml"].get("model", {})
    params = source.settings["params.yaml"]
    words = (
        f"{model.get('architecture')} of {model.get('layers')} layers of {model.get('hidden')}; "
        f"language {params.get('corpus', {}).get('language')}; tasks {', '.join(source.tasks) or 'none'}; "
        f"seed {params.get('seed')}"
    )
    found, _ = source.scores()
    shown = [
        (part.name(headline), part.metrics.get(headline.metric), _held(part, headline.against)[:1])
        for part in found.values()
        for headline in [one for one in part.report.headlines if one.against][:MOST_CARDS]
        if part.metrics.get(headline.metric) is not None
    ]
    items = "".join(
        f"<li><span>{text(name)}</span><b>{format_number(value)}</b>"
        f"<span>{' '.join(f'{text(name)} {number_}' for name, number_ in held)}</span></li>"
        for name, value, held in shown
    )
    return paragraph(text(words), "soft") + f'<ul class="numbers">{items}</ul>'


def _held(part: Scores, against: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name, format_number(part.metrics.get(key))) for key, name in against.items()]


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
        f"{_whole(facts.get('read'))} articles came in, {_whole(facts.get('articles'))} were kept: "
        f"{_whole(facts.get('words'))} words, {_whole(facts.get('characters'))} characters."
    )
    content += grid(drawn)
    content += '<div class="grid">' + html_table(
        "Dropped", ("reason", "articles"), [[text(reason), _count(count)] for reason, count in dropped.items()]
    )
    content += _manifest(source, "data/corpus") + "</div>"
    pairs = read_csv(folder / "duplicates.csv") if (folder / "duplicates.csv").is_file() else []
    if pairs:
        header = list(pairs[0])
        shown = [[text(value) for value in row.values()] for row in pairs[:MOST_TABLE]]
        left = f", the first {MOST_TABLE} of {len(pairs):,}" if len(pairs) > MOST_TABLE else ""
        content += folded(
            "Near duplicates", html_table(f"Near duplicates{left}", list(map(text, header)), shown), "near"
        )
    return Section("corpus", "Corpus", content, drawn, _pictures(source, "corpus"))


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
    rows = [[text(key.replace("_", " ")), _score(value)] for key, value in flatten(facts).items()]
    content = html_table("On the validation split", ("measured", "value"), rows)
    counts = read_json(source.reports / "tokenize" / "metrics.json")
    splits = list(counts)
    names = list(dict.fromkeys(name for split in counts.values() for name in split))
    rows = [[text(name.replace("_", " ")), *(_score(counts[split].get(name)) for split in splits)] for name in names]
    content += html_table("Sentences and tokens", ("counted", *map(text, splits)), rows)
    return Section("tokenizer", "Tokenizer", f'<div class="grid">{content}</div>')


def pretraining(source: Source) -> Section:
    """Return the curves of pretraining, training against validation."""
    training = read_training(source.reports / "pretrain", "pretraining", source.seconds("pretrain"))
    facts = read_json(source.reports / "pretrain" / "metrics.json")
    scored = source.scores()[0].get("")
    drawn = pretraining_figures([training], scored.metrics if scored else {})
    best, steps = facts.get("best", {}), facts.get("steps")
    said = [
        f"{_whole(steps)} updates, {_whole(facts.get('tokens'))} tokens, {_whole(facts.get('parameters'))} parameters",
        f"best validation loss {format_number(best.get('loss'))} nats, at step {_whole(best.get('step'))}",
    ]
    if training.seconds is not None:
        said.append(f"{training.seconds:,.1f} seconds, scores included, spread over the tokens for the curves")
    content = paragraph(text("; ".join(said)) + ".") + controls(drawn) + grid(drawn)
    content += folded("Validation scores as a table", _series_table(training), "pretraining-scores")
    return Section("pretraining", "Pretraining", content, drawn, _pictures(source, "pretraining"))


def pretraining_figures(
    trainings: Sequence[Training], metrics: Mapping[str, float | None], prefix: str = ""
) -> list[Figure]:
    """Return a figure of each curve of pretraining that has a number; `metrics` has what they are held against."""
    drawn = []
    for column, (title, unit) in PANELS.items():
        if not any(training.has(column) for training in trainings):
            continue
        data, note = table(trainings, column)
        value = metrics.get(AGAINST.get(column, ""))
        names = {
            "mlm_loss": "unigram frequencies",
            "mlm_accuracy": "most frequent token",
            "nsp_accuracy": "word overlap",
        }
        lines = [(value, names[column])] if value is not None and column in names else []
        if column == "nsp_loss":
            lines = [(math.log(2), "ln 2, a coin")]
        key = f"{prefix}pretraining-{column.replace('_', '-')}"
        drawn.append(
            figures.curves(
                key,
                title,
                unit,
                data,
                lines,
                caption=text(note),
                is_loss=column.endswith("loss"),
                shares=column.endswith("accuracy"),
            )
        )
    return drawn


def finetuning(source: Source, task: str, place_: int) -> Section:
    """Return the curves of a task: from pretrained against from random weights."""
    folder = source.reports / TASKS / task
    trainings = [
        read_training(folder / stage, name, source.seconds(f"{stage}@{task}")) for stage, name in STARTS.items()
    ]
    part = read_task(source.reports, task)
    lines = baselines(part)
    data, note = table(trainings, "loss")
    title = f"training-{place_}"
    drawn = [figures.curves(f"{title}-loss", "Loss", "nats per example", data, caption=text(note), is_loss=True)]
    for number_, curve in enumerate(part.report.curves):
        data, note = table(trainings, curve.column)
        held = lines.get(curve.column, ())
        values = [value for training in trainings for value in training.validation.get(curve.column, ())]
        drawn.append(
            figures.curves(
                f"{title}-{number_}",
                curve.name,
                f"{curve.name} (validation split)",
                data,
                held,
                caption=f"Dashed lines are of the test split. {text(note)}" if held else text(note),
                shares=all(0 <= value <= 1 or math.isnan(value) for value in (*values, *(value for value, _ in held))),
            )
        )
    tables = "".join(
        folded(f"{text(training.name)}: validation scores as a table", _series_table(training), f"{title}-scores-{n}")
        for n, training in enumerate(trainings)
    )
    content = controls(drawn) + grid(drawn) + tables
    return Section(title, f"Fine-tuning: {task}", content, drawn, _pictures(source, f"{task}-finetuning"))


def _series_table(training: Training) -> str:
    columns = list(training.validation)
    rows = [
        [_score(value, digits=6) for value in row]
        for row in zip(*(training.validation[name] for name in columns), strict=True)
    ]
    return html_table(f"{training.name}: validation scores", [text(name.replace("_", " ")) for name in columns], rows)


def numbers(source: Source) -> Section:
    """Return the headline numbers, each beside what it is held against, with n and interval."""
    parts, missing = source.scores()
    rows: list[list[object]] = []
    drawn: list[tuple[object, ...]] = []
    for part in parts.values():
        for headline in part.report.headlines:
            if headline.metric not in part.metrics:
                continue
            value = part.metrics[headline.metric]
            low, high = (part.metrics.get(f"{headline.metric}_{end}") for end in ("low", "high"))
            count = part.metrics.get(headline.count) if headline.count else None
            held = [(name, part.metrics.get(key)) for key, name in headline.against.items()]
            name = part.name(headline)
            rows.append(
                [
                    text(name) + (" ↑" if headline.better == "higher" else " ↓"),
                    _score(value),
                    "" if low is None or high is None else f"{low:.3f} to {high:.3f}",
                    Cell("" if count is None else _whole(count), count, number=True),
                    "<br>".join(f"{format_number(other)} {text(name)}" for name, other in held),
                ]
            )
            if value is not None and low is not None and 0 <= value <= 1:
                drawn.append((name, "maskline", value, low, high))
                drawn += [(name, other, number_, None, None) for other, number_ in held if number_ is not None]
    content = html_table(
        "Measured on examples that nothing was trained on; the arrow points to the better side",
        ("measured", "maskline", "95 % interval", "n", "held against"),
        rows,
    )
    shown = []
    if drawn:
        note = "Point and bar: maskline and its interval of 95 %. Grey marks: what it is held against."
        shown.append(figures.scores("scores", "Scores beside what they are held against", drawn, note))
    content += "".join(map(place, shown)) + "".join(paragraph(text(line), "note") for line in missing)
    return Section("numbers", "Numbers and what they are held against", content, shown)


def task_page(source: Source, task: str, place_: int) -> Section:
    """Return the figures and tables of a task, and examples of its test split."""
    folder = source.reports / TASKS / task / SCORE
    report = read_task(source.reports, task).report
    drawn = [
        figures.SHAPES[spec.shape](f"task-{place_}-{number_}", spec.title, spec, read_csv(folder / spec.table))
        for number_, spec in enumerate(report.figures)
    ]
    content = paragraph(f"Test split, from pretrained weights. Examples came from {_dataset(source, task)}.")
    beside = "".join(map(place, drawn))
    long = {PREDICTIONS, *(spec.table for spec in report.figures if spec.shape in {"matrix", "scatter"})}
    for path in sorted(folder.glob("*.csv")):
        rows = read_csv(path)
        if path.name in long or not rows or len(rows) > MOST_TABLE:
            continue
        fields = [[_field(value) for value in row.values()] for row in rows]
        beside += html_table(path.stem.replace("_", " "), [text(name) for name in rows[0]], fields, sortable=True)
    content += f'<div class="grid">{beside}</div>'
    examples = folder / "examples.md"
    if examples.is_file():
        above, parts = cards(examples.read_text(encoding="utf-8"))
        content += paragraph("<b>Examples of the test split</b>") + above + _cards(parts)
    pictures = [picture for spec in report.figures for picture in _pictures(source, f"{task}-{spec.name}")]
    return Section(f"task-{place_}", f"Task: {task}", content, drawn, pictures)


def _dataset(source: Source, task: str) -> str:
    path = source.folder / "data" / TASKS / task / MANIFEST
    if not path.is_file():
        return f"the source that {code(f'tasks/{task}.yaml')} names"
    manifest = read_json(path)
    splits = ", ".join(f"{_whole(s.get('examples'))} {text(name)}" for name, s in manifest.get("splits", {}).items())
    dropped = ", ".join(
        f"{_whole(count)} {text(reason.replace('_', ' ').replace('.', ' '))}"
        for reason, count in flatten(manifest.get("dropped", {})).items()
        if count
    )
    facts = manifest.get("provenance", {})
    origin = " ".join(str(facts[key]) for key in ("source", "package", "dataset", "version") if facts.get(key))
    licence = f"; licence {text(manifest['licence'])}" if manifest.get("licence") else ""
    return f"{text(origin)}: {splits}; dropped: {dropped or 'none'}{licence}"


def samples(source: Source) -> Section:
    """Return what the pretrained model puts in place of masked words."""
    path = source.reports / "evaluate" / "samples.md"
    if not path.is_file():
        raise UserError(f"{path} is missing: run `dvc repro` to make it")
    above, parts = cards(path.read_text(encoding="utf-8"))
    return Section("samples", "What the model puts in place of a word", above + _cards(parts))


def provenance(source: Source) -> Section:
    """Return how to repeat the run, and the hashes and versions that say whether it was the same."""
    command = "dvc repro" if source.reference is None else "make repro"
    if keys := source.changes():
        command = changes.command(keys, source.params, source.reference_params)
    content = paragraph("The command that repeats it:") + f"<pre>{text(command)}</pre>"
    rows = []
    for directory in (*DATA, *(f"data/models/{name}" for name in ("pretrained", *_models(source)))):
        path = source.folder / directory / MANIFEST
        for name, facts in (read_json(path).get("files", {}) if path.is_file() else {}).items():
            rows.append([code(f"{directory}/{name}"), _count(facts.get("bytes")), code(facts.get("sha256"))])
    if rows:
        content += folded("SHA-256 of every file", html_table("SHA-256", ("file", "bytes", "sha256"), rows), "files")
    outs = [[text(stage), code(path), code(md5)] for stage, path, md5 in source.stages.outs()]
    if outs:
        content += folded(
            "Stages and the MD5 of what they made", html_table(LOCK, ("stage", "out", "md5"), outs), "outs"
        )
    times = [(stage, seconds) for stage in source.stages.names() if (seconds := source.seconds(stage)) is not None]
    shown = [[text(stage), Cell(f"{taken:,.1f}", taken, number=True)] for stage, taken in times]
    content += '<div class="grid">' + html_table("Seconds of each stage", ("stage", "seconds"), shown)
    versions = [[text(name), code(version)] for name, version in _versions(source.folder / "constraints.txt")]
    content += html_table("Versions (constraints.txt)", ("package", "version"), versions) + "</div>"
    return Section("provenance", "Provenance", content)


def _models(source: Source) -> list[str]:
    return [name for task in source.tasks for name in (task, f"{task}-scratch")]


def _versions(path: Path) -> list[tuple[str, str]]:
    if not path.is_file():
        return []
    pinned = dict(line.split("==", 1) for line in path.read_text(encoding="utf-8").splitlines() if "==" in line)
    return [(name, pinned[name].split(" ")[0]) for name in LIBRARIES if name in pinned]


def _pictures(source: Source, name: str) -> list[tuple[str, str]]:
    """Return the SVG that `plot` drew, for where scripts are off."""
    path = source.reports / "figures" / f"{name}.svg"
    if not path.is_file():
        return []
    content = path.read_text(encoding="utf-8")
    return [(name, content[content.index("<svg") :])]


def grid(drawn: Sequence[Figure]) -> str:
    """Return the places of figures, beside each other where there is room."""
    kind = "grid three" if drawn and len(drawn) % 3 == 0 else "grid"
    return f'<div class="{kind}">{"".join(map(place, drawn))}</div>' if drawn else ""


def _cards(parts: Sequence[str]) -> str:
    return '<div class="cards">' + "".join(f'<div class="card">{part}</div>' for part in parts) + "</div>"


def _whole(value: float | None) -> str:
    return "—" if value is None else f"{value:,.0f}"


def _count(value: float | None) -> Cell:
    return Cell(_whole(value), value, number=True)


def _score(value: Any, digits: int = 0) -> Cell:
    """Return a number as a field: whole ones whole, others with three decimals or `digits` that count."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return Cell("—", None, number=True)
    if float(value).is_integer():
        return Cell(f"{value:,.0f}", value, number=True)
    return Cell(f"{value:.{digits}g}" if digits else format_number(value), number(value), number=True)


def _field(content: str) -> Cell:
    try:
        return _score(float(content))
    except ValueError:
        return Cell(text(content))
