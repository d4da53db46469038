"""The page of one run: what was run, on what, and what came of it, from what its stages left."""

from collections.abc import Callable, Mapping, Sequence

from maskline.core.errors import UserError
from maskline.page.document import Page, Section
from maskline.page.elements import paragraph, text
from maskline.page.inputs import corpus, tokenizer, what
from maskline.page.provenance import provenance
from maskline.page.results import numbers, samples, task_page
from maskline.page.source import Source, stale
from maskline.page.training import finetuning, pretraining
from maskline.reporting.scores import Scores
from maskline.reporting.tables import format_number

MOST_CARDS = 3
"""Numbers of a task that stand above everything."""


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
