"""What the section `dataset` of every tasks/NAME.yaml has, whatever the kind of task."""

from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from maskline.core.section import Section
from maskline.corpus.split import TaskSplit
from maskline.records.settings import HubPin, Wheel


def _new(name: str) -> str:
    if name in get_args(TaskSplit):
        raise ValueError(f"{name} is a split that every task has: give another name")
    return name


FurtherTest = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$"), AfterValidator(_new)]
"""The name of a test split beside `test`: of a file, a folder and a key of metrics.json."""


class SampleMember(Wheel):
    """A CSV member of a wheel."""

    member: str
    licence: str
    """As the manifest states it."""


class DatasetHub(HubPin):
    """A dataset on the hub, and which of its splits are which."""

    train_split: str = "train"
    validation_split: str | None = "validation"
    """Held out whole. null, or validation where the dataset has none: a part of `train_split` is, by a hash."""
    test_split: str | None = "test"
    """The same, with test."""
    further_tests: dict[FurtherTest, str] = Field(default_factory=dict)
    """Name -> split: others that are held out whole; each is scored beside test, under its name."""

    @model_validator(mode="after")
    def _check_splits(self) -> Self:
        chosen = (self.train_split, self.validation_split, self.test_split, *self.further_tests.values())
        names = [name for name in chosen if name is not None]
        if len(set(names)) != len(names):
            raise ValueError("train_split, validation_split, test_split and further_tests must differ from one another")
        return self


class DatasetFiles(Section):
    """Globs of files of the user's own, relative to the folder that the command runs in."""

    paths: list[str]
    """Examples to train on, without the files named below; a split that is not named there is split off by a hash."""
    validation_paths: list[str] = Field(default_factory=list)
    test_paths: list[str] = Field(default_factory=list)
    further_tests: dict[FurtherTest, list[str]] = Field(default_factory=dict)
    """Name -> globs: others that are held out whole; each is scored beside test, under its name. []: not there."""


class DatasetSettings(Section):
    """Where the examples of a task come from, and how they are split."""

    source: Literal["sample", "hub", "files"]
    encoding: str
    """Of the sample and of files."""
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    """Share of the examples, by a hash of what near copies share, where no validation split is given."""
    test_fraction: Annotated[float, Field(gt=0, lt=1)]
    sample: SampleMember | None = None
    hub: DatasetHub | None = None
    files: DatasetFiles | None = None

    @model_validator(mode="after")
    def _check_dataset(self) -> Self:
        if self.validation_fraction + self.test_fraction >= 1:
            raise ValueError("validation_fraction + test_fraction must stay below 1, or nothing is left to train on")
        if getattr(self, self.source) is None:
            raise ValueError(f"source is {self.source}, and there is no section {self.source}: add it")
        return self
