"""What the user gave as an initializer may be trained: no graph depends on its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from onnxwright import FLOAT, GraphBuilder

# Operator -> numbers of a weight that would make it its input.
NEUTRAL = {
    "Mul": 1.0,
    "Div": 1.0,
    "Add": -0.0,
    "Sub": 0.0,
    "Pow": 1.0,
}


@pytest.mark.parametrize("name", NEUTRAL)
@pytest.mark.parametrize("size", [1, 4, 4000])
def test_a_neutral_weight_stays(name: str, size: int) -> None:
    g = GraphBuilder(opset=20)
    x = g.input("x", FLOAT["N", size])
    w = g.initializer(np.full(size, NEUTRAL[name], np.float32), "w")
    g.output(getattr(g.op, name)(x, w), "y")
    model = g.to_model_proto()
    assert [n.op_type for n in model.graph.node] == [name]
    assert [i.name for i in model.graph.initializer] == ["w"]


def test_a_scalar_weight_stays() -> None:
    g = GraphBuilder(opset=20)
    x = g.input("x", FLOAT["N"])
    g.output(x * g.initializer(np.float32(1), "scale"), "y")
    assert [i.name for i in g.to_model_proto().graph.initializer] == ["scale"]


def test_large_arrays_beside_a_value_are_weights() -> None:
    g = GraphBuilder(opset=20)
    x = g.input("x", FLOAT["N", 4000])
    g.output(x * np.ones(4000, np.float32), "y")
    assert [n.op_type for n in g.to_model_proto().graph.node] == ["Mul"]


def test_numbers_in_code_are_simplified() -> None:
    g = GraphBuilder(opset=20)
    x = g.input("x", FLOAT["N", 4])
    g.output(g.op.Relu(x * 1.0 * np.ones(4, np.float32)), "y")
    assert [n.op_type for n in g.to_model_proto().graph.node] == ["Relu"]


def test_weights_with_equal_numbers_stay_two() -> None:
    g = GraphBuilder(opset=20)
    x = g.input("x", FLOAT["N", 4])
    first = g.initializer(np.ones(4, np.float32), "first")
    second = g.initializer(np.ones(4, np.float32), "second")
    g.output(x * first * second, "y")
    assert [i.name for i in g.to_model_proto().graph.initializer] == ["first", "second"]


def test_what_weights_make_is_not_folded() -> None:
    g = GraphBuilder(opset=20)
    x = g.input("x", FLOAT["N", 4])
    w = g.initializer(np.ones(4, np.float32), "w")
    g.output(x * g.op.Exp(w), "y")
    assert [n.op_type for n in g.to_model_proto().graph.node] == ["Exp", "Mul"]


def test_integers_are_shapes_and_may_be_looked_at() -> None:
    g = GraphBuilder(opset=20)
    x = g.input("x", FLOAT[2, 6])
    shape = g.initializer(np.array([3, 4]), "shape")
    y = g.op.Reshape(x, shape)
    assert y.shape == (3, 4)
