"""What the section `finetune` says of how much of the network is trained."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from maskline.core.section import Count, Positive, Section

Method = Literal["full", "adapters", "lora", "probe"]
Placement = Literal["houlsby", "pfeiffer"]
Matrix = Literal["query", "key", "value", "out", "up", "down"]
KEYS: dict[Method, tuple[str, ...]] = {
    "full": (),
    "adapters": ("placement", "bottleneck"),
    "lora": ("rank", "alpha", "matrices"),
    "probe": (),
}
"""What each method reads beside `method_lr`."""


class TuningParams(Section):
    """How much of the network is trained: all of it, or little on an encoder that stays as it is."""

    method: Method
    """full: all weights. adapters: bottlenecks in every layer, and the head (Houlsby et al. 2019). lora: changes of low
    rank of some matrices, and the head (Hu et al. 2022). probe: the head alone. BERT's pooler, where a head reads it,
    belongs to the head. What starts from random weights is trained in full, whatever this says."""
    method_lr: Positive
    """`peak_lr` of all methods but full, which AdamW alone trains, as in their papers: Muon makes an update orthogonal,
    and a thin factor has few directions to move alike."""
    placement: Placement
    """Of adapters. houlsby: after attention and after the feed-forward network of a layer, before the residual sum; the
    LayerNorms of the layers are trained too (Houlsby et al. 2019, sec. 2.1). pfeiffer: once, at the end of a layer
    (Pfeiffer et al. 2021, as He et al. 2022, sec. 2.2, describe it)."""
    bottleneck: Count
    """Numbers between the two matrices of an adapter."""
    rank: Count
    """Of a change by lora."""
    alpha: Positive
    """A change is scaled by alpha / rank."""
    matrices: Annotated[list[Matrix], Field(min_length=1)]
    """What lora changes in every layer: the projections of attention to query, key and value and from it (out), and of
    the feed-forward network (up, down)."""

    @property
    def few(self) -> bool:
        """Return whether the encoder stays as it is."""
        return self.method != "full"

    def described(self) -> dict[str, Any]:
        """Return the method and what it reads."""
        return {"method": self.method, **{key: getattr(self, key) for key in KEYS[self.method]}}

    def size_error(self, hidden: int) -> str | None:
        """Return why the method does not fit an encoder of `hidden` numbers a token; None where it does."""
        for method, key in (("adapters", "bottleneck"), ("lora", "rank")):
            if self.method == method and (size := getattr(self, key)) >= hidden:
                return f"{key} {size} is not below the {hidden} numbers of a token (model.hidden): lower it"
        return None

    @model_validator(mode="after")
    def _check_matrices(self) -> Self:
        if len(set(self.matrices)) != len(self.matrices):
            raise ValueError(f"matrices names one of {', '.join(self.matrices)} twice: name each once")
        return self
