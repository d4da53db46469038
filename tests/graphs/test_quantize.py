"""Int8 by hand: a table and a product, as ONNX Runtime computes them."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from maskline.graphs.quantize import SCHEMES, quantize

V, D, O = 40, 32, 33  # noqa: E741  # odd
ROWS = np.random.default_rng(0)
TABLE = ROWS.normal(size=(V, D)).astype(np.float32)
MATRIX = ROWS.normal(size=(O, D)).astype(np.float32)
MATRIX[7] *= 50  # one column of the product is far larger than the rest
BIAS = ROWS.normal(size=O).astype(np.float32)
LINEAR = {"transB": 1, "alpha": 1.0, "beta": 1.0, "transA": 0}


def graph(matrix=MATRIX, table=TABLE):
    """Return a graph of a table whose rows `ids` are multiplied with a matrix."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["x"]),
        helper.make_node("Gemm", ["x", "matrix", "bias"], ["y"], **LINEAR),
    ]
    weights = {"table": table, "matrix": matrix, "bias": BIAS[: len(matrix)]}
    made = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", len(matrix)])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def run(model, ids):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["y"], {"ids": np.array(ids, np.int64)})[0]


def rounded(values, axis=None):
    """Return values as multiples of a 127th of the largest, of all or of each row."""
    scale = np.abs(values).max(axis, keepdims=True) / np.float32(127)
    return np.rint(values / scale) * scale


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_product_is_that_of_what_was_rounded(scheme):
    ids = [3, 3, 39, 0, 17]
    axis = 1 if scheme == "channel" else None
    x = rounded(TABLE, axis)[ids]
    expected = rounded(x, 1) @ rounded(MATRIX, axis).T + BIAS
    found = run(quantize(graph(), scheme), ids)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-3)
    assert np.abs(found - run(graph(), ids)).max() > 1e-3


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_row_is_the_same_among_any_others(scheme):
    model = quantize(graph(table=np.concatenate([TABLE, 1000 * TABLE, 0 * TABLE])), scheme)
    together = run(model, range(3 * V))
    for row in (0, V - 1, 2 * V, 3 * V - 1):
        assert np.array_equal(run(model, [row])[0], together[row])
    assert together[2 * V] == pytest.approx(BIAS)  # a row of zeros is one


def test_a_scale_for_each_column_loses_less():
    expected = run(graph(), range(V))
    others = [column for column in range(O) if column != 7]
    tensor, channel = (np.abs(run(quantize(graph(), s), range(V)) - expected)[:, others].mean() for s in SCHEMES)
    assert channel < 0.1 * tensor


def test_what_is_small_stays_and_what_is_shared_is_stored_once():
    small = quantize(graph(MATRIX[:2]), "channel")
    assert [node.op_type for node in small.graph.node if node.op_type == "Gemm"]
    tied = graph(TABLE)
    for node in tied.graph.node:
        for number, name in enumerate(node.input):
            node.input[number] = name.replace("matrix", "table").replace("bias", "")
    del tied.graph.initializer[1:]
    model = quantize(tied, "channel")
    assert {weight.name for weight in model.graph.initializer if weight.data_type == TensorProto.INT8} == {"table_int8"}
    onnx.checker.check_model(model, full_check=False)
    assert run(model, [1, 2]) == pytest.approx(run(tied, [1, 2]), abs=0.5)


def test_the_graph_in_float32_stays_as_it_is():
    model = graph()
    before = model.SerializeToString()
    quantize(model, "channel")
    assert model.SerializeToString() == before
