"""Maps, and sequences of maps, pass through every tool: what classifiers of sklearn give."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import onnxwright as ow

X = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])
IMPORTS = [helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 1)]


def map_type(*, sequence: bool, key: int = TensorProto.INT64) -> onnx.TypeProto:
    proto = onnx.TypeProto()
    kind = proto.sequence_type.elem_type.map_type if sequence else proto.map_type
    kind.key_type = key
    kind.value_type.tensor_type.elem_type = TensorProto.FLOAT
    kind.value_type.tensor_type.shape.SetInParent()
    return proto


def labelled(**labels: object) -> onnx.ModelProto:
    key = TensorProto.STRING if "classlabels_strings" in labels else TensorProto.INT64
    nodes = [
        helper.make_node("Identity", ["x"], ["i"]),
        helper.make_node("ZipMap", ["i"], ["y"], domain="ai.onnx.ml", **labels),
    ]
    result = onnx.ValueInfoProto(name="y", type=map_type(sequence=True, key=key))
    graph = helper.make_graph(nodes, "g", [X], [result])
    return helper.make_model(graph, opset_imports=IMPORTS, ir_version=8)


def vectorized() -> onnx.ModelProto:
    node = helper.make_node(
        "DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", int64_vocabulary=[0, 1]
    )
    info = onnx.ValueInfoProto(name="x", type=map_type(sequence=False))
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])
    graph = helper.make_graph([node], "g", [info], [result])
    return helper.make_model(graph, opset_imports=IMPORTS, ir_version=8)


ROWS = {"x": np.array([[0.25, 0.75]], np.float32)}
MODELS = {
    "integers": (labelled(classlabels_int64s=[3, 4]), ROWS),
    "strings": (labelled(classlabels_strings=["a", "b"]), ROWS),
    "an input": (vectorized(), {"x": {0: 1.0, 1: 2.0}}),
}
TOOLS = {
    "optimize": ow.optimize,
    "rewrite": lambda m: ow.rewrite(m, []),
    "up": lambda m: ow.convert_version(m, 17),
    "down": lambda m: ow.convert_version(m, 11),
    "from_model": lambda m: ow.GraphBuilder.from_model(m).to_model_proto(),
    "extract": lambda m: ow.extract(m, ["x"], ["y"]),
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", MODELS)
def test_maps_pass_through(name: str, tool: str) -> None:
    model, feeds = MODELS[name]
    new_model = TOOLS[tool](model)
    onnx.checker.check_model(new_model, full_check=True)
    assert [i.type for i in new_model.graph.input] == [i.type for i in model.graph.input]
    assert list(new_model.graph.output) == list(model.graph.output)
    assert str(ow.run_model(new_model, feeds)) == str(ow.run_model(model, feeds))


@pytest.mark.parametrize("name", MODELS)
def test_maps_are_shown_and_run(name: str) -> None:
    model, feeds = MODELS[name]
    assert "Map[" in str(ow.show(model))
    assert not ow.diff(model, model)
    assert "make_model" in ow.to_script(model)
    outputs = ow.GraphBuilder.from_model(model).run(feeds)
    assert str(np.asarray(outputs["y"])) == str(np.asarray(ow.run_model(model, feeds)[0]))


def test_sizes_of_other_inputs_are_set() -> None:
    model, _ = MODELS["integers"]
    new_model = ow.set_shapes(model, {"x": [4, 2]})
    assert new_model.graph.output[0].type == model.graph.output[0].type
    assert new_model.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 4
