"""Types of values that are not tensors: annotations in the script, and the same type again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from onnxwright import BOOL, FLOAT, GraphBuilder, script, to_script
from onnxwright import opset21 as op
from onnxwright.errors import OnnxwrightError
from onnxwright.testing import assert_isomorphic
from tests.harness.loading import load_file


def tensor(*shape: Any, dtype: int = TensorProto.FLOAT) -> onnx.TypeProto:
    """A tensor type; no shape for `...`."""
    return helper.make_tensor_type_proto(dtype, None if shape == (...,) else list(shape))


def listed(of: onnx.TypeProto) -> onnx.TypeProto:
    """A sequence type."""
    return helper.make_sequence_type_proto(of)


def optional(of: onnx.TypeProto) -> onnx.TypeProto:
    """An optional type."""
    return helper.make_optional_type_proto(of)


def mapped(key: int, of: onnx.TypeProto) -> onnx.TypeProto:
    """A map type."""
    proto = onnx.TypeProto()
    proto.map_type.key_type = key
    proto.map_type.value_type.CopyFrom(of)
    return proto


TYPES = {
    'Optional[FLOAT["N", 3]]': optional(tensor("N", 3)),
    "Optional[Sequence[FLOAT[5]]]": optional(listed(tensor(5))),
    "Optional[Sequence[FLOAT[()]]]": optional(listed(tensor())),
    "Sequence[INT64]": listed(tensor(..., dtype=TensorProto.INT64)),
    "Sequence[Sequence[FLOAT[2]]]": listed(listed(tensor(2))),
    "dict[int, FLOAT[()]]": mapped(TensorProto.INT64, tensor()),
    "Sequence[dict[str, FLOAT[()]]]": listed(mapped(TensorProto.STRING, tensor())),
    "Optional[FLOAT]": optional(tensor(...)),
}


def model_of(node: onnx.NodeProto, x: onnx.TypeProto | None, y: onnx.TypeProto) -> onnx.ModelProto:
    """A model of one node."""
    inputs = [] if x is None else [helper.make_value_info("x", x)]
    graph = helper.make_graph([node], "g", inputs, [helper.make_value_info("y", y)])
    imports = [helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def made_again(model: onnx.ModelProto, folder: Path) -> tuple[str, onnx.ModelProto]:
    """The script of a model, and the model that it makes."""
    text = to_script(model)
    path = folder / "written_types.py"
    module = load_file(path, text)
    return text, module.make_model()


@pytest.mark.parametrize("shown", TYPES)
def test_types_are_annotations(shown: str, tmp_path: Path) -> None:
    """Of inputs and outputs, those that are the input itself too."""
    kind = TYPES[shown]
    model = model_of(helper.make_node("Identity", ["x"], ["y"]), kind, kind)
    text, again = made_again(model, tmp_path)
    assert f"x: {shown}" in text
    assert f"-> {shown}:" in text
    assert "b'" not in text
    assert_isomorphic(again, model)
    assert again.graph.input[0].type == kind
    assert again.graph.output[0].type == kind


def test_types_are_attributes(tmp_path: Path) -> None:
    """Those of calls; values inside have types as well."""
    kind = TYPES["Sequence[INT64]"]
    node = helper.make_node("Optional", [], ["y"], type=kind)
    text, again = made_again(model_of(node, None, optional(kind)), tmp_path)
    assert "op.Optional(type=Sequence[INT64])" in text
    assert again.graph.node[0].attribute[0].tp == kind
    kind, result = TYPES["Optional[Sequence[FLOAT[5]]]"], tensor(dtype=TensorProto.BOOL)
    model = model_of(helper.make_node("OptionalHasElement", ["x"], ["y"]), kind, result)
    text, again = made_again(model, tmp_path)
    assert "b'" not in text
    assert_isomorphic(again, model)


def test_attributes_that_are_types_take_annotations() -> None:
    """Compiled, built and eagerly; what is not a type is an error."""

    @script()
    def nothing() -> BOOL[()]:
        return op.OptionalHasElement(op.Optional(type=Sequence[FLOAT[5]]))

    attribute_type = nothing.to_model_proto().graph.node[0].attribute[0].tp
    assert attribute_type == listed(tensor(5))
    assert nothing() == np.array(False)

    @script()
    def plain() -> BOOL[()]:
        return op.OptionalHasElement(op.Optional(type=FLOAT[2]))

    assert plain.to_model_proto().graph.node[0].attribute[0].tp == tensor(2)
    assert plain() == np.array(False)
    g = GraphBuilder(opset=21)
    assert str(g.op.Optional(type=FLOAT["N"]).kind) == "Optional[FLOAT[N]]"
    with pytest.raises(OnnxwrightError, match="type"):
        g.op.Optional(type=3)


def test_optional_of_an_author_is_an_input_that_may_be_absent() -> None:
    """The meaning in scripts that people write stays."""

    @script()
    def f(x: FLOAT["N"] | None) -> BOOL[()]:
        return op.OptionalHasElement(x)

    assert f.to_model_proto().graph.input[0].type == tensor("N")
