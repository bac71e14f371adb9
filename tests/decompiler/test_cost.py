"""What writing a model costs: how often it is written and compiled, and that size is no limit."""

from __future__ import annotations

import ast
import gc
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxwright.converter.frontend import capture, hir
from onnxwright.decompiler import api, roundtrip_search, to_script
from onnxwright.decompiler.rebuild import rebuild
from onnxwright.testing import assert_isomorphic


def chain(count: int) -> onnx.ModelProto:
    """Nodes that read the one before, or the third before, or a weight."""
    operators = ("Relu", "Add", "Mul", "MatMul", "Sub", "Reshape")
    names, nodes = ["x"], []
    for n in range(count):
        operator, output = operators[n % len(operators)], f"v{n}"
        inputs = [names[-1]]
        if operator in ("Add", "Mul", "Sub"):
            inputs.append(names[max(0, len(names) - 3)])
        elif operator == "MatMul":
            inputs.append("weight")
        elif operator == "Reshape":
            inputs.append("shape")
        nodes.append(helper.make_node(operator, inputs, [output]))
        names.append(output)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [8, 8]) for n in ("x", names[-1]))
    held = [
        numpy_helper.from_array(np.arange(64, dtype=np.float32).reshape(8, 8), "weight"),
        numpy_helper.from_array(np.array([8, 8]), "shape"),
    ]
    graph = helper.make_graph(nodes, "chain", [x], [y], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


class Counting:
    """A function that counts its calls."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.function(*args, **kwargs)


@pytest.mark.parametrize(
    ("how", "written", "compiled"),
    [
        ({}, 1, 1),
        ({"weights": "external"}, 1, 1),
        ({"weights": lambda _name, _array: None}, 2, 1),  # the user's function is asked once
        ({"operators": False}, 1, 0),
    ],
)
def test_a_text_is_written_and_compiled_once(
    how: dict[str, Any], written: int, compiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text that was tried is the one that is given, its weights filled in."""
    model = chain(12)
    write, run = Counting(roundtrip_search.write), Counting(roundtrip_search.rebuild_pieces)
    monkeypatch.setattr(roundtrip_search, "write", write)
    monkeypatch.setattr(api, "write", write)
    monkeypatch.setattr(roundtrip_search, "rebuild_pieces", run)
    source = to_script(model, **how)
    assert (write.calls, run.calls) == (written, compiled)
    assert_isomorphic(model, rebuild(source))


def test_a_text_that_is_tried_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The front end gets the tree that the check of the text made, and keeps nothing of it."""
    parse, compare = Counting(capture._parse), Counting(capture._codes_in)
    monkeypatch.setattr(capture, "_parse", parse)
    monkeypatch.setattr(capture, "_codes_in", compare)
    to_script(chain(13))
    assert (parse.calls, compare.calls, capture._known_modules) == (0, 0, {})


@pytest.mark.parametrize(("size", "checked"), [(64, 1), (4, 0)])
def test_the_text_before_the_functions_is_checked_again_where_weights_are_filled_in(
    size: int, checked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = chain(12)
    side = int(size**0.5)
    weight = np.arange(size, dtype=np.float32).reshape(side, side)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weight, "weight"))
    check = Counting(api.contents_of)
    monkeypatch.setattr(api, "contents_of", check)
    assert_isomorphic(model, rebuild(to_script(model)))
    assert check.calls == checked


def test_trees_of_a_text_that_is_tried_do_not_wait_for_the_garbage_collector() -> None:
    model = chain(12)
    to_script(model)
    gc.collect()
    gc.disable()
    try:
        before = _trees()
        to_script(model)
        assert _trees() <= before
    finally:
        gc.enable()


def _trees() -> int:
    # By the class alone: `isinstance` asks each object, and some modules warn when they are asked.
    return sum(issubclass(type(x), (ast.AST, hir.Assign)) for x in gc.get_objects())


@pytest.mark.slow
def test_a_hundred_thousand_nodes() -> None:
    model = chain(100_000)
    assert_isomorphic(model, rebuild(to_script(model)))
