"""The graph of a trained network, for padded batches of any size: what `torch.onnx` makes of it, tidied up."""

# Dimensions: B sequences, T tokens of the longest, N = B * T, D hidden.

import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import torch
from torch import Tensor, nn

from maskline.graphs.directory import INPUTS
from maskline.model.attention import Layout
from maskline.model.heads import EncoderModel
from maskline.model.modes import evaluating

OPSET = 20
"""The first with GELU."""
STATES = "last_hidden_state"
PLACES = ("pad_index", "pack_index")
"""Inputs that are there while the graph is made: a padded batch is packed already, and what they choose is all."""
EXAMPLE = 3, 7
"""B and T of the batch that the network is followed on."""

Outputs = Callable[[Tensor, Layout, Tensor], dict[str, Tensor]]
"""What a network computes beside the states: from them, (N, D), the layout and the attention mask, (B, T) bool."""


def trace(model: EncoderModel, outputs: Outputs) -> Any:
    """Return the graph of `model`, an `onnx.ModelProto`: its INPUTS give STATES, (B, T, D), and `outputs`."""
    import onnx

    network = _Padded(model, outputs)
    places = torch.arange(EXAMPLE[0] * EXAMPLE[1])
    ids = torch.zeros(EXAMPLE, dtype=torch.long)
    example = (ids, ids + 1, ids.clone(), places, places.clone())
    names = [STATES, *network.names(*example)]
    dynamic = ({0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO},) * len(INPUTS)
    with evaluating(model), torch.no_grad(), _silent():
        program = torch.onnx.export(
            network,
            example,
            input_names=[*INPUTS, *PLACES],
            output_names=names,
            dynamic_shapes=(*dynamic, *({0: torch.export.Dim.AUTO},) * len(PLACES)),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    graph = program.model_proto
    _drop_places(graph.graph)
    _name_sizes(graph.graph)
    _forget(graph)
    onnx.checker.check_model(graph)
    return graph


class _Padded(nn.Module):
    """A network on a padded batch, all of whose places are taken for tokens; attention alone leaves padding out."""

    def __init__(self, model: EncoderModel, outputs: Outputs) -> None:
        super().__init__()
        self.model = model
        self.outputs = outputs

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pad_index: Tensor, pack_index: Tensor
    ) -> tuple[Tensor, ...]:
        return tuple(self.named(input_ids, attention_mask, token_type_ids, pad_index, pack_index).values())

    def names(self, *example: Tensor) -> list[str]:
        with torch.no_grad():
            return list(self.named(*example))[1:]

    def named(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pad_index: Tensor, pack_index: Tensor
    ) -> dict[str, Tensor]:
        B, T = input_ids.shape  # noqa: N806
        starts = torch.arange(B) * T
        positions = torch.arange(T).expand(B, T).flatten()
        mask = attention_mask.bool()
        layout = Layout(T, starts, starts, positions, pad_index, pack_index, mask)
        x = self.model.encoder(input_ids.flatten(), token_type_ids.flatten(), layout)
        return {STATES: x.view(B, T, -1), **self.outputs(x, layout, mask)}


@contextmanager
def _silent() -> Iterator[None]:
    """Keep to itself what torch says while it makes a graph: of packages that are not there, and of its own changes."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _drop_places(graph: Any) -> None:
    """Take out the PLACES, with the nodes that choose by them; how many there are is said by the batch."""
    from onnx import helper

    places, nodes = {*PLACES}, []
    same: dict[str, str] = {}
    for node in graph.node:
        if node.op_type == "Gather" and node.input[1] in places:
            same[node.output[0]] = same.get(node.input[0], node.input[0])
        elif node.op_type == "Reshape" and node.input[0] in places:  # to one dimension, which it has
            places.add(node.output[0])
        elif node.op_type == "Shape" and node.input[0] in places:
            sizes = f"{node.output[0]}_sizes"
            nodes.append(helper.make_node("Shape", [INPUTS[0]], [sizes]))
            nodes.append(helper.make_node("ReduceProd", [sizes], [node.output[0]]))
        else:
            nodes.append(node)
    for node in nodes:
        for number, name in enumerate(node.input):
            node.input[number] = same.get(name, name)
    del graph.node[:]
    graph.node.extend(nodes)
    for value in [*graph.input]:
        if value.name in PLACES:
            graph.input.remove(value)


def _name_sizes(graph: Any) -> None:
    """Call the first two sizes of what goes in `batch` and `sequence`, and forget those of what is in between."""
    for value in graph.input:
        for size, name in zip(value.type.tensor_type.shape.dim, ("batch", "sequence"), strict=True):
            size.dim_param = name
    del graph.value_info[:]


def _forget(model: Any) -> None:
    """Leave out what tells where in the code a node comes from: it is longer than the graph, and names folders."""
    del model.metadata_props[:]
    for part in (model.graph, *model.graph.node, *model.graph.input, *model.graph.output, *model.graph.initializer):
        del part.metadata_props[:]
        part.doc_string = ""
