"""The section `evaluate` of params.yaml."""

from maskline.core.section import Natural, Section


class EvaluateParams(Section):
    """What evaluation writes beside the numbers."""

    samples: Natural
