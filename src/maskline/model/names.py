"""Names of weights: ours, and those of Hugging Face."""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Names:
    """Which of Hugging Face's weights are ours, and what the names of some of theirs begin with.

    `#` stands for the number of a layer.
    """

    encoder: str
    """What the names of the encoder begin with."""
    pooler: tuple[str, ...]
    """What those of the pooler begin with; without any, there is none."""
    mlm: str
    """What those of the head for masked tokens begin with, and no others."""
    nsp: tuple[str, ...]
    """What those of the head for sentence pairs begin with; without any, there is none."""
    layer: str
    """A weight of which each layer has one."""
    modules: Mapping[str, str | tuple[str, ...]]
    """Our module -> theirs, or those that one matrix of ours is stacked of. Others have their name already."""
    weights: Mapping[str, str]
    """Our weight -> theirs, where the module does not tell."""

    def theirs(self, name: str) -> list[str]:
        """Return Hugging Face's names of our weight `name`: one, or several for a stack."""
        if name in self.weights:
            return [self.weights[name]]
        for ours, theirs in self.modules.items():
            if match := re.fullmatch(
                re.escape(ours).replace(r"\#", r"(?P<layer>\d+)") + r"\.(?P<kind>weight|bias)", name
            ):
                layer, modules = match.groupdict().get("layer", ""), (theirs,) if isinstance(theirs, str) else theirs
                return [f"{module.replace('#', layer)}.{match['kind']}" for module in modules]
        return [name]

    def layers(self, theirs: Mapping[str, object]) -> int:
        """Return how many layers there are among Hugging Face's names."""
        pattern = re.compile(re.escape(self.layer).replace(r"\#", r"\d+"))
        return sum(pattern.fullmatch(name) is not None for name in theirs)
