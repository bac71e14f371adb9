"""Models written directly are the messages that onnx_ir writes."""

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.ir.serialize import model_to_proto
from tests.harness.tables import each

F = ir.TensorType(ir.DataType.FLOAT)
KIND = ir.AttributeType

# What each attribute of the one node in the model holds.
ATTRIBUTES: dict[str, ir.Attr] = {
    "int": ir.Attr("a", KIND.INT, 3),
    "zero": ir.Attr("a", KIND.INT, 0),
    "true": ir.Attr("a", KIND.INT, True),
    "float": ir.Attr("a", KIND.FLOAT, 0.5),
    "string": ir.Attr("a", KIND.STRING, "é"),
    "bytes": ir.Attr("a", KIND.STRING, b"\xff"),
    "ints": ir.Attr("a", KIND.INTS, [1, 2]),
    "no ints": ir.Attr("a", KIND.INTS, []),
    "floats": ir.Attr("a", KIND.FLOATS, [1.0, 2.0]),
    "strings": ir.Attr("a", KIND.STRINGS, ["a", "b"]),
    "tensor": ir.Attr("a", KIND.TENSOR, ir.tensor(np.float32([[1, 2]]), doc_string="t")),
    "scalar": ir.Attr("a", KIND.TENSOR, ir.tensor(np.float32(1), name="n")),
    "text": ir.Attr("a", KIND.TENSOR, ir.StringTensor([b"x"], shape=ir.Shape([1]), name="n")),
    "tensors": ir.Attr("a", KIND.TENSORS, [ir.tensor([1.0], name="x"), ir.tensor([2])]),
    "reference": ir.RefAttr("a", "outer", KIND.FLOAT),
    "documented": ir.Attr("a", KIND.FLOAT, 1.0, doc_string="why"),
    "type": ir.Attr("a", KIND.TYPE_PROTO, ir.TypeAndShape(F, ir.Shape([1]))),
    "graph": ir.Attr(
        "a",
        KIND.GRAPH,
        ir.Graph([ir.Value(name="i", type=F, shape=ir.Shape([]))], [], nodes=[], name="inner"),
    ),
    "graphs": ir.Attr("a", KIND.GRAPHS, [ir.Graph([], [], nodes=[], name="inner")]),
}

# The type and shape of the input, of the output and of a value between them.
TYPES: dict[str, tuple[object, object]] = {
    "unknown": (None, None),
    "no rank": (F, None),
    "scalar": (F, ir.Shape([])),
    "dimensions": (F, ir.Shape([1, "N", None])),
    "denotations": (F, ir.Shape(["N", 3], denotations=["DATA_BATCH", None])),
    "denotation": (ir.TensorType(ir.DataType.INT64, denotation="IMAGE"), ir.Shape([2])),
    "sequence": (ir.SequenceType(F), ir.Shape([2])),
    "optional": (ir.OptionalType(ir.SequenceType(F)), None),
    "sparse": (ir.SparseTensorType(ir.DataType.DOUBLE), ir.Shape([4, 4])),
}


def model(attr: ir.Attr | None = None, kind: object = F, shape: object = None) -> ir.Model:
    """Two nodes, an initializer and whatever else a graph may hold."""
    x, held, mid, unused = (ir.Value(name=name) for name in ("x", "held", "mid", ""))
    out = ir.Value(name="out", doc_string="the result", metadata_props={"k": "v"})
    for value in (x, mid, out):
        value.type, value.shape = kind, shape
    held.const_value = ir.tensor(np.arange(3.0))
    held.meta["quant_parameter_tensor_names"] = {"SCALE_TENSOR": "x"}
    first = ir.Node(
        "custom",
        "Op",
        [x, None, held],
        [] if attr is None else [attr],
        outputs=[mid, unused],
        name="first",
        overload="o",
        doc_string="doc",
        metadata_props={"b": "2", "a": "1"},
    )
    mid.meta["quant_parameter_tensor_names"] = {"ZERO_POINT_TENSOR": "z", "SCALE_TENSOR": "s"}
    graph = ir.Graph(
        [x],
        [out],
        nodes=[first, ir.Node("", "Relu", [mid], outputs=[out])],
        initializers=[held],
        opset_imports={"custom": 1, "": 18},
        name="g",
        doc_string="graph",
        metadata_props={"k": "v"},
    )
    p, q = ir.Value(name="p"), ir.Value(name="q", type=F)
    body = ir.Graph(
        [p], [q], nodes=[ir.Node("", "Abs", [p], outputs=[q])], opset_imports={"": 18}, name="f"
    )
    return ir.Model(
        graph,
        ir_version=10,
        producer_name="me",
        domain="d",
        model_version=3,
        metadata_props={"z": "1", "a": "2"},
        functions=[ir.Function("custom", "f", graph=body, attributes=[])],
    )


def same(ir_model: ir.Model) -> None:
    """Both writers give the same bytes."""
    expected: onnx.ModelProto = ir.to_proto(ir_model)
    assert model_to_proto(ir_model).SerializeToString() == expected.SerializeToString()


@each("attr", ATTRIBUTES)
def test_attributes(attr: str) -> None:
    same(model(ATTRIBUTES[attr]))


@each("kind", TYPES)
def test_types(kind: str) -> None:
    same(model(None, *TYPES[kind]))


@each("version", [8, 9, 10, 11, 13])
def test_ir_versions(version: int) -> None:
    ir_model = model()
    ir_model.ir_version = version
    same(ir_model)
