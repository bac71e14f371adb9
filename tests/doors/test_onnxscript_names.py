"""Files written for onnxscript's authoring API run after a change of the package's name alone."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxwright as ow
from tests.harness.loading import load_file
from tests.harness.tables import each

X = np.array([[-1.5, 2.0, 0.5], [3.0, -0.25, 1.0]], np.float32)

# A program as its author wrote it for onnxscript, and what it is called with.
PROGRAMS: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "opsets and types by module": (
        """
from onnxscript import script
from onnxscript.onnx_opset import opset15 as op
from onnxscript.onnx_types import FLOAT


@script()
def main(x: FLOAT["N", 3]) -> FLOAT["N", 3]:
    zero = op.Constant(value_float=0.0)
    return op.Where(op.Less(x, zero), x * 0.1, x)
""",
        "main",
        (X,),
    ),
    "script(opset=..., ir_version=..., producer_name=...)": (
        """
from onnxscript import script
from onnxscript import opset17 as op
from onnxscript.onnx_types import FLOAT, INT64
from onnxscript.values import Opset


@script(opset=Opset("this.one", 1), default_opset=op, ir_version=9, producer_name="author")
def main(x: FLOAT[...]) -> INT64[...]:
    return op.Shape(x)
""",
        "main",
        (X,),
    ),
    "a scalar where a called function says one element": (
        """
from onnxscript import script
from onnxscript.onnx_opset import opset15 as op
from onnxscript.onnx_types import FLOAT


@script()
def scaled(x: FLOAT["N"], factor: FLOAT[1]) -> FLOAT["N"]:
    return x * factor


@script()
def main(x: FLOAT["N"]) -> FLOAT["N"]:
    half = op.Constant(value_float=0.5)
    return op.Identity(scaled(x, half))
""",
        "main",
        (X[0],),
    ),
    "a number as the value of ConstantOfShape, an int as a float attribute": (
        """
from onnxscript import script
from onnxscript.onnx_opset import opset15 as op
from onnxscript.onnx_types import BOOL, FLOAT


@script()
def main(x: FLOAT["N", 3], train: BOOL) -> FLOAT["N", 3]:
    if train:
        kept = op.RandomUniformLike(x, dtype=1, seed=7) >= 0.5
    else:
        kept = op.ConstantOfShape(op.Shape(x), value=True)
    return op.Where(kept, x, 0) / (2 - 1)
""",
        "main",
        (X, np.array(False)),
    ),
    "five states of a while loop with a known first test": (
        """
from onnxscript import script
from onnxscript.onnx_opset import opset15 as op
from onnxscript.onnx_types import FLOAT, INT64


@script()
def main(x: FLOAT["N"], n: INT64) -> FLOAT["N"]:
    a = op.Identity(x)
    b = op.Identity(x)
    c = op.Identity(x)
    i = 0
    go = True
    while go:
        a = op.Add(a, x)
        b = op.Mul(b, x)
        c = op.Sub(c, b)
        i = i + 1
        go = i < n
    return a + b * c
""",
        "main",
        (X[0], np.array(3)),
    ),
    "a sequence that grows, a typed local, a result as a tuple": (
        """
from onnxscript import FLOAT, script
from onnxscript import opset15 as op


@script()
def main(x: FLOAT["N"]) -> FLOAT["M"]:
    found = op.SequenceEmpty(dtype=1)
    power = x
    for _ in range(4):
        found = op.SequenceInsert(found, power)
        power: FLOAT["N"] = power * 2
    return op.ConcatFromSequence(found, axis=0)
""",
        "main",
        (X[0],),
    ),
    "choices by a string attribute and indices": (
        """
from onnxscript import FLOAT, script
from onnxscript import opset15 as op


@script()
def arranged(x, size: int, mode: str):
    b, c, h, w = op.Split(op.Shape(x), [1, 1, 1, 1])
    block = op.Reshape(op.Constant(value_int=size), [1])
    if mode == "DCR":
        shape = op.Concat(b, block, block, c / (block * block), h, w, axis=0)
        moved = op.Transpose(op.Reshape(x, shape), perm=[0, 3, 4, 1, 5, 2])
    else:
        shape = op.Concat(b, c / (block * block), block, block, h, w, axis=0)
        moved = op.Transpose(op.Reshape(x, shape), perm=[0, 1, 4, 2, 5, 3])
    return op.Reshape(moved, op.Concat(b, c / (block * block), h * block, w * block, axis=0))


@script()
def main(x: FLOAT[1, 4, 2, 3]) -> FLOAT[1, 1, 4, 6]:
    return arranged(x, size=2, mode="DCR")
""",
        "main",
        (np.arange(24, dtype=np.float32).reshape(1, 4, 2, 3),),
    ),
}


def load(name: str, folder: Path) -> Any:
    text = PROGRAMS[name][0].replace("onnxscript", "onnxwright")
    path = folder / "program.py"
    module = load_file(path, text, registered=True)
    return getattr(module, PROGRAMS[name][1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_and_compiles(name: str, tmp_path: Path) -> None:
    function = load(name, tmp_path)
    arguments = PROGRAMS[name][2]
    model = function.to_model_proto()
    if all(i.type.tensor_type.HasField("shape") for i in model.graph.input):
        onnx.checker.check_model(model, full_check=True)
    inputs = {i.name: a for i, a in zip(model.graph.input, arguments, strict=True)}
    (compiled,) = ow.run_model(model, inputs)
    np.testing.assert_allclose(function(*arguments), compiled, rtol=1e-6)


def test_options_of_the_decorator_are_those_of_the_model(tmp_path: Path) -> None:
    function = load("script(opset=..., ir_version=..., producer_name=...)", tmp_path)
    model = function.to_model_proto()
    assert (model.ir_version, model.producer_name) == (9, "author")
    assert function.to_model_proto(ir_version=10).ir_version == 10
    assert function.function_ir.domain == "this.one"
    with pytest.raises(TypeError, match="no option 'optimise'"):
        ow.script(optimise=True)(lambda x: x)


MODULES = {
    "onnx_opset": ["opset1", "opset18", "opset_ai_onnx_ml3", "all_opsets"],
    "onnx_types": ["FLOAT", "INT64", "BFLOAT16", "TensorType", "ONNXType"],
    "values": ["Opset", "Op", "OnnxFunction", "TracedOnnxFunction"],
    "evaluator": [
        "default",
        "default_as",
        "set_default",
        "ORTEvaluator",
        "ort_evaluator",
        "EagerModeError",
    ],
    "tensor": ["Tensor"],
    "testing": ["assert_isomorphic", "assert_isomorphic_function", "assert_isomorphic_graph"],
}


@each("module", MODULES)
def test_modules_have_the_names_that_files_import(module: str) -> None:
    imported = importlib.import_module(f"onnxwright.{module}")
    assert getattr(ow, module) is imported
    assert [n for n in MODULES[module] if not hasattr(imported, n)] == []


def test_the_evaluator_is_a_function_and_a_module() -> None:
    """`with evaluator("reference"):` and `evaluator.default_as(...)` are both in files."""
    from onnxwright import evaluator, opset18
    from onnxwright.evaluator import ORTMixedEvaluator, default, default_as

    before = default()
    with evaluator("reference") as chosen:
        assert default() is before or chosen is not before
        np.testing.assert_array_equal(opset18.Neg(X), -X)
    with evaluator.default_as(ORTMixedEvaluator()):
        np.testing.assert_array_equal(opset18.Neg(X), -X)
    with default_as("ort"):
        np.testing.assert_array_equal(opset18.Neg(X), -X)
    assert default() is before


def test_signatures_are_those_of_onnx_ir() -> None:
    from collections.abc import Sequence

    from onnxwright import FLOAT, opset18, script

    @script()
    def f(
        x: FLOAT["N"], *more: FLOAT["N"], low: FLOAT | None = None, axes: Sequence[int], a: int = 3
    ):
        return opset18.Sum(x, *more)

    signature = f.op_signature
    assert (signature.domain, signature.name) == ("this", "f")
    assert [(p.name, p.required) for p in signature.params] == [
        ("x", True), ("more", True), ("low", False), ("axes", True), ("a", False),
    ]  # fmt: skip
    assert [p.variadic for p in signature.inputs] == [False, True, False]
    assert signature.get("a").default.value == 3


def test_names_of_scripts_do_not_matter_unless_asked_for() -> None:
    from onnxwright import FLOAT, opset18, script, testing

    @script()
    def f(x: FLOAT["N"]):
        """One."""
        return opset18.Neg(opset18.Relu(x))

    @script()
    def g(a: FLOAT["N"]):
        b = opset18.Relu(a)
        return opset18.Neg(b)

    @script()
    def h(x: FLOAT["N"]):
        return opset18.Abs(opset18.Relu(x))

    testing.assert_isomorphic(f, g)
    testing.assert_isomorphic_function(f, g)
    testing.assert_isomorphic_graph(f, f.to_model_proto().graph)
    for different in (
        lambda: testing.assert_isomorphic(f, h),
        lambda: testing.assert_isomorphic_function(f, h),
        lambda: testing.assert_isomorphic_graph(f, h),
        lambda: testing.assert_isomorphic(f, g, io_names=True),
        lambda: testing.assert_isomorphic(f, g, graph_names=True),
        lambda: testing.assert_isomorphic(f.to_function_proto(), g.to_function_proto()),
    ):
        with pytest.raises(AssertionError, match="not isomorphic"):
            different()


@ow.script("my.domain", version=3)
def scaled(x: ow.FLOAT["N"], factor: float = 2.0, *, kind: str | None = None) -> ow.FLOAT["N"]:
    """A scaled input."""
    return x * factor


def test_function_ir_becomes_a_function_proto() -> None:
    """What was changed in it is in the proto."""
    function = scaled.function_ir
    assert function.to_function_proto() == scaled.to_function_proto()
    function.doc_string = "changed"
    assert function.to_function_proto("other").domain == "other"
    assert function.to_function_proto().doc_string == "changed"


def test_op_schema_of_a_script() -> None:
    """It can be registered, and a model that calls the function is checked by it."""
    schema = scaled.op_schema
    assert (schema.name, schema.domain, schema.since_version) == ("scaled", "my.domain", 3)
    assert [i.name for i in schema.inputs] == ["x"]
    assert [o.name for o in schema.outputs] == ["output"]
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    assert allowed[schema.inputs[0].type_str] == ["tensor(float)"]
    factor, kind = schema.attributes["factor"], schema.attributes["kind"]
    assert (factor.required, factor.default_value.f, kind.required) == (False, 2.0, False)
    assert schema.doc.strip() == "A scaled input."

    @ow.script()
    def main(x: ow.FLOAT["N"]) -> ow.FLOAT["N"]:
        return scaled(x)

    model = main.to_model_proto(functions="external")
    onnx.defs.register_schema(schema)
    try:
        onnx.checker.check_model(model)
        model.graph.node[0].input.append("x")
        with pytest.raises(onnx.checker.ValidationError, match="scaled"):
            onnx.checker.check_model(model)
    finally:
        onnx.defs.deregister_schema("scaled", 3, "my.domain")


def test_calls_stay_nodes_without_bodies() -> None:
    """The model imports the domain of the call, and no domain that only the body needs."""

    @ow.script()
    def main(x: ow.FLOAT["N"]) -> ow.FLOAT["N"]:
        return scaled(x, 3.0)

    model = main.to_model_proto(functions="external")
    assert [(n.domain, n.op_type) for n in model.graph.node] == [("my.domain", "scaled")]
    assert not model.functions
    assert {o.domain: o.version for o in model.opset_import}["my.domain"] == 3
    assert model.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def test_an_annotation_types_the_result_of_a_custom_operator() -> None:
    """What follows computes with that type; a wrong one of a known operator stays an error."""
    custom = ow.Opset("my.kernels", 1)

    @ow.script()
    def main(x: ow.FLOAT[2]):
        y: ow.INT64[3] = custom.Count(x)
        return y + 1, y

    model = main.to_model_proto()
    kinds = [(o.type.tensor_type.elem_type, dims(o)) for o in model.graph.output]
    assert kinds == [(onnx.TensorProto.INT64, [3])] * 2
    assert not any(node.op_type == "CastLike" for node in model.graph.node)


def dims(value: onnx.ValueInfoProto) -> list[int]:
    return [d.dim_value for d in value.type.tensor_type.shape.dim]


_NODE = onnx.helper.make_node("Relu", ["x"], ["y"], name="n")
_UNEQUAL = {
    "another output": (onnx.helper.make_node("Relu", ["x"], ["z"], name="n"), r"output\[0\]: 'y'"),
    "one input more": (onnx.helper.make_node("Relu", ["x", "x"], ["y"], name="n"), "2 entries"),
    "an attribute": (onnx.helper.make_node("Relu", ["x"], ["y"], name="n", a=1), "attribute"),
    "another kind": (onnx.GraphProto(), "NodeProto != GraphProto"),
}


@each("case", _UNEQUAL)
def test_protos_that_differ(case: str) -> None:
    """The message has the path."""
    other, words = _UNEQUAL[case]
    with pytest.raises(AssertionError, match=words):
        ow.testing.assert_onnx_proto_equal(_NODE, other)


def test_protos_that_are_equal() -> None:
    """In another order where order says nothing, with a default written out, and NaN in both."""
    equal = ow.testing.assert_onnx_proto_equal
    model = scaled.to_model_proto()
    other = onnx.ModelProto.FromString(model.SerializeToString())
    other.domain = ""
    imports = [onnx.helper.make_opsetid("a", 1), onnx.helper.make_opsetid("b", 2)]
    model.opset_import.extend(imports)
    other.opset_import.extend(imports[::-1])
    equal(model, other)
    nan = onnx.helper.make_node("C", [], ["y"], value_float=float("nan"))
    equal(nan, onnx.NodeProto.FromString(nan.SerializeToString()))
    weight = onnx.helper.make_tensor("w", 1, [1], [1.0])
    graph = onnx.helper.make_graph([], "g", [], [], [weight])
    typed = onnx.GraphProto.FromString(graph.SerializeToString())
    typed.value_info.append(onnx.helper.make_tensor_value_info("w", 1, [1]))
    equal(typed, graph, ignore_initializer_value_proto=True)
    for a, b, lenient in ((typed, graph, False), (graph, typed, True)):
        with pytest.raises(AssertionError, match=r"value_info\['w'\]: only in"):
            equal(a, b, lenient)
    with pytest.raises(TypeError, match="not an object of type int"):
        equal(1, 1)
