"""Graphs in int8: matrices and embeddings as small integers, and each token's numbers as it comes, by itself.

A matrix is quantized once, with a scale for all of it or for each of its columns. What it is multiplied with is
quantized when it is there: each row, which is a token, by its own largest number. ONNX Runtime's own dynamic
quantization takes one range for the whole batch, so that an answer depends on the texts around it (LOG.md).
"""

# Dimensions: N rows, D columns, O columns of a product; V rows of an embedding.

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Scheme = Literal["tensor", "channel"]
"""One scale for a matrix, or one for each column of a product and each row of an embedding."""
SCHEMES: tuple[Scheme, ...] = ("tensor", "channel")
LEAST = 1024
"""Numbers of a matrix that is worth it: a classifier of few classes stays as it is."""
LARGEST = 127
ZERO = 128
"""What stands for 0 in a row: integers from 1 to 255, which is what is fast on most processors."""
LINEAR = {"transB": 1, "alpha": 1.0, "beta": 1.0, "transA": 0}
TINY = 1e-30
RUNTIME = "com.microsoft"
"""The domain of ONNX Runtime's own operations."""


def quantize(graph: Any, scheme: Scheme) -> Any:
    """Return a copy of `graph`, an `onnx.ModelProto`, whose matrices and embeddings are int8."""
    import onnx
    from onnx import helper, numpy_helper

    found = onnx.ModelProto()
    found.CopyFrom(graph)
    if all(known.domain != RUNTIME for known in found.opset_import):
        found.opset_import.append(helper.make_opsetid(RUNTIME, 1))
    weights = {weight.name: weight for weight in found.graph.initializer}
    writer = _Writer({name: numpy_helper.to_array(weight) for name, weight in weights.items()}, scheme)
    for node in graph.graph.node:
        writer.add(node)
    used = {name for node in writer.nodes for name in node.input}
    kept = [weight for name, weight in weights.items() if name in used]
    del found.graph.node[:], found.graph.initializer[:]
    found.graph.node.extend(writer.nodes)
    found.graph.initializer.extend([*kept, *writer.constants.values()])
    onnx.checker.check_model(found)
    return found


class _Writer:
    """The nodes and constants of a graph in int8."""

    def __init__(self, weights: Mapping[str, NDArray[Any]], scheme: Scheme) -> None:
        self.weights = weights
        self.scheme = scheme
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self._rows: dict[str, tuple[str, str]] = {}

    def add(self, node: Any) -> None:
        """Write `node`, in int8 where it is a product with a matrix or an embedding."""
        from onnx import helper

        matrix = self.weights.get(node.input[1 if node.op_type == "Gemm" else 0]) if len(node.input) > 1 else None
        if node.op_type not in {"Gemm", "Gather"} or matrix is None or matrix.ndim != 2 or matrix.size < LEAST:
            self.nodes.append(node)
        elif node.op_type == "Gemm":
            attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
            assert attributes | LINEAR == attributes, "as torch writes a linear layer"
            self._product(node)
        else:
            self._embedding(node)

    def _product(self, node: Any) -> None:
        """Write x W + b for rows x, (N, D), as the integers of both, multiplied, times the scales of both."""
        x, weight, *bias = filter(None, node.input)  # a bias that is left out may be there without a name
        y = node.output[0]
        rows, row_scale = self._row_integers(x)
        integers, scale = self._integers(weight)
        integers = self._node("Transpose", [integers], f"{integers}_t", perm=[1, 0])
        one, zero = self._constant("one", np.float32(1)), self._constant("zero", np.uint8(ZERO))
        product = self._node("MatMulIntegerToFloat", [rows, integers, one, scale, zero], f"{y}_product", domain=RUNTIME)
        column = self._node("Unsqueeze", [row_scale, self._constant("last", np.array([1]))], f"{row_scale}_column")
        scaled = self._node("Mul", [product, column], f"{y}_scaled" if bias else y)
        if bias:
            self._node("Add", [scaled, bias[0]], y)

    def _row_integers(self, x: str) -> tuple[str, str]:
        """Write x, (N, D), as integers, and what one of them is worth in each row, (N,)."""
        if x not in self._rows:
            axis = self._constant("last", np.array([1]))
            high = self._node("ReduceMax", [x, axis], f"{x}_high", keepdims=0)
            low = self._node("Neg", [self._node("ReduceMin", [x, axis], f"{x}_low", keepdims=0)], f"{x}_depth")
            largest = self._node("Max", [high, low, self._constant("tiny", np.float32(TINY))], f"{x}_largest")
            scale = self._node("Div", [largest, self._constant("steps", np.float32(LARGEST))], f"{x}_scale")
            zero = self._node(
                "Expand",
                [self._constant("zero", np.uint8(ZERO)), self._node("Shape", [scale], f"{x}_rows")],
                f"{x}_zero",
            )
            self._rows[x] = self._node("QuantizeLinear", [x, scale, zero], f"{x}_integers", axis=0), scale
        return self._rows[x]

    def _embedding(self, node: Any) -> None:
        """Write the rows of a table that `node` chooses as integers, times their scales."""
        table, ids = node.input
        y = node.output[0]
        integers, scale = self._integers(table)
        chosen = self._node("Gather", [integers, ids], f"{y}_chosen")
        if self.scheme == "channel":
            scale = self._node("Gather", [scale, ids], f"{y}_chosen_scale")
            self._node("DequantizeLinear", [chosen, scale], y, axis=0)
        else:
            self._node("DequantizeLinear", [chosen, scale], y)

    def _integers(self, name: str) -> tuple[str, str]:
        """Return the names of a matrix in int8, and of the scale of all of it, or of each row as it is stored."""
        matrix = self.weights[name]
        largest = np.abs(matrix).max(1 if self.scheme == "channel" else None)
        scale = np.maximum(largest, TINY).astype(np.float32) / np.float32(LARGEST)
        integers = np.rint(matrix / (scale[:, None] if self.scheme == "channel" else scale)).astype(np.int8)
        return self._constant(f"{name}_int8", integers), self._constant(f"{name}_scale", scale)

    def _constant(self, name: str, value: Any) -> str:
        from onnx import numpy_helper

        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def _node(self, kind: str, given: list[str], name: str, **attributes: Any) -> str:
        """Write a node that has one output, and return its name; what is there already is not written again."""
        from onnx import helper

        if all(name not in node.output for node in self.nodes):
            self.nodes.append(helper.make_node(kind, given, [name], **attributes))
        return name
