"""The kind of a task, as the commands of its stages need it."""

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from maskline.dataset.write import Examples
    from maskline.finetuning.task import TaskFactory

TaskName = Annotated[str, typer.Argument(help="A task of params.yaml, such as sentiment.", show_default=False)]


def examples_of(kind: str) -> "Examples[Any]":
    """Return what makes examples of records for tasks of `kind`."""
    examples: Examples[Any] = import_module(f"maskline.tasks.{kind}.examples").Examples()
    return examples


def factory_of(kind: str) -> "TaskFactory":
    """Return what makes a task of `kind`."""
    factory: TaskFactory = import_module(f"maskline.tasks.{kind}.task").make_task
    return factory
