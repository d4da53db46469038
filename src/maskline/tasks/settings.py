"""What every tasks/NAME.yaml holds."""

from pydantic import SerializeAsAny

from maskline.core.section import Section
from maskline.dataset.settings import DatasetSettings
from maskline.finetuning.settings import FinetuneParams


class TaskSettings(Section):
    """The settings file of a task, each kind with sections of its own type.

    `finetune` is that of params.yaml with the differences that the file holds.
    """

    kind: str
    """As params.yaml names it beside the task."""
    dataset: SerializeAsAny[DatasetSettings]
    finetune: SerializeAsAny[FinetuneParams]
