"""The section `evaluate` of params.yaml."""

from typing import Annotated

from pydantic import Field

from maskline.core.section import Natural, Section


class EvaluateParams(Section):
    """What evaluation writes beside the numbers."""

    samples: Natural
    also: Annotated[str, Field(min_length=1)] | None
    """The directory of another fixed validation set to score on as well; None: none."""
