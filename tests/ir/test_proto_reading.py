"""Models read directly are those that onnx_ir reads."""

from __future__ import annotations

import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from onnxwright.ir.proto_reading import model_from_proto
from tests.harness.tables import each
from tests.ir.test_serialize import ATTRIBUTES, TYPES, model
from tests.optimizer.corpus.stored import names, stored

TEXTS = {
    "bodies": """<ir_version: 10, opset_import: ["" : 21]>
        g (float[N] x, bool c) => (float[N] y) <float[1] w = {2.0}> {
          a = Mul(x, w)
          y = If(c) <then_branch = t () => (float[N] p) { p = Add(a, w) },
                     else_branch = e () => (float[N] q) {
                       r = If(c) <then_branch = i () => (float[N] s) { s = Neg(a) },
                                  else_branch = j () => (float[N] t) { t = Identity(x) }>
                       q = Abs(r) }> }""",
    "functions": """<ir_version: 10, opset_import: ["" : 21, "my" : 1]>
        g (float[2] x) => (float[2] y) { y = my.f <alpha = 0.5> (x) }
        <domain: "my", opset_import: ["" : 21]>
        f <alpha> (x) => (y) { y = LeakyRelu <alpha : float = @alpha> (x) }""",
    "absent": """<ir_version: 9, opset_import: ["" : 17], producer_name: "me">
        g (float[2, 3] x) => (float[2, 3] y) <float lo = {0.0}>
        { y = Clip(x, lo)  z, = Clip(x, , lo) }""",
}


def same(proto: onnx.ModelProto) -> None:
    """Both readers give models that are written alike."""
    expected = ir.to_proto(ir.from_proto(proto))
    written = ir.to_proto(model_from_proto(proto))
    assert written.SerializeToString(deterministic=True) == expected.SerializeToString(
        deterministic=True
    )


@each("attr", ATTRIBUTES)
def test_attributes(attr: str) -> None:
    same(ir.to_proto(model(ATTRIBUTES[attr])))


@each("kind", TYPES)
def test_types(kind: str) -> None:
    same(ir.to_proto(model(None, *TYPES[kind])))


@each("version", [3, 8, 9, 10, 11, 13])
def test_ir_versions(version: int) -> None:
    proto = ir.to_proto(model())
    proto.ir_version = version
    same(proto)


@each("name", TEXTS)
def test_graphs(name: str) -> None:
    same(onnx.parser.parse_model(TEXTS[name]))


@pytest.mark.parametrize("name", names()[::9])
def test_stored_models(name: str) -> None:
    same(stored(name).model)


def test_what_initializers_say_of_themselves() -> None:
    proto = ir.to_proto(model())
    info = helper.make_tensor_value_info("held", TensorProto.DOUBLE, [3])
    info.metadata_props.add(key="k", value="v")
    proto.graph.value_info.append(info)
    same(proto)
    proto.graph.input.append(info)  # as in IR version 3
    del proto.graph.value_info[:]
    same(proto)
    graph = model_from_proto(proto).graph
    assert graph.inputs[-1] is graph.initializers["held"]


def test_device_configurations() -> None:
    proto = ir.to_proto(model())
    proto.configuration.add(name="two", num_devices=2)
    proto.graph.node[0].device_configurations.add(configuration_id="two")
    same(proto)
    del proto.configuration[:]
    same(proto)


def test_equal_shapes_are_one_frozen_object_and_types_are_not() -> None:
    """A pass of another library may write into a type; a frozen shape nobody can change."""
    text = """<ir_version: 10, opset_import: ["" : 21]> g (float[N, 2] x, float[N, 2] z)
        => (float[N, 2] y) { y = Add(x, z) }"""
    x, z = model_from_proto(onnx.parser.parse_model(text)).graph.inputs
    assert x.shape is z.shape
    assert x.shape.frozen
    x.dtype = ir.DataType.DOUBLE
    assert z.dtype == ir.DataType.FLOAT
