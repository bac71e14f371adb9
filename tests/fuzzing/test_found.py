"""Damaged models that once ended in an error of ours: they are done, or refused with a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset20 as op
from onnxwright.cli.main import main
from onnxwright.cli.shared.values import as_data
from onnxwright.errors import (
    ModelError,
    OnnxwrightError,
    ScriptError,
    ScriptTypeError,
    ScriptValueError,
    StaticTypeError,
)
from onnxwright.testing import assert_isomorphic
from tests.harness.tables import each

HEAD = '<ir_version: 10, opset_import: ["" : 20]>\ng (float[N] x) => (float[N] y) '


def model(body: str, **changes: Callable[[onnx.ModelProto], object]) -> onnx.ModelProto:
    made = onnx.parser.parse_model(HEAD + body)
    for change in changes.values():
        change(made)
    return made


def ended(run: Callable[[], Any]) -> bool:
    """Whether a call is done, or refused with one of our errors that is not internal."""
    try:
        run()
    except OnnxwrightError as error:
        return "OW901" not in str(error)
    return True


def unknown_and_empty(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].attribute.add(name="unknown", type=onnx.AttributeProto.INTS)


def without_inputs(proto: onnx.ModelProto) -> None:
    del proto.graph.node[-1].input[:]


MODELS = {
    "an operator without inputs": model("{ a = Abs (x)  y = Add (a, a) }", cut=without_inputs),
    "a constant with an unknown attribute": model(
        "{ c = Constant <value_float = 1.0> ()  y = Add (x, c) }",
        name=lambda m: setattr(m.graph.node[0].attribute[0], "name", "value_bool"),
    ),
    "an unknown attribute that is an empty list": model(
        "{ y = Concat <axis = 0> (x, x) }", more=unknown_and_empty
    ),
    "a generator with an input": model(
        "{ r = RandomUniform <shape = [2]> ()  y = Add (x, r) }",
        more=lambda m: m.graph.node[0].input.append("x"),
    ),
    "a constant without an element type": model(
        "{ c = Constant <value_float = 1.0> ()  y = Add (x, c) }",
        kind=lambda m: m.graph.value_info.add(name="c").type.tensor_type.shape.SetInParent(),
    ),
    "data in a file that is not named": model(
        "<float[2] w = {1, 2}> { y = Add (x, w) }",
        away=lambda m: setattr(m.graph.initializer[0], "data_location", 1),
    ),
}
MODELS["an Identity of nothing in a loop"] = model(
    """{ n = Constant <value_int = 3> ()  c = Constant <value = bool {1}> ()
    y = Loop (n, c, x) <body = b (int64 i, bool k, float[N] v) => (bool m, float[N] r)
        { m = Identity ("")  r = Neg (v) }> }"""
)
CALLS: dict[str, Callable[[onnx.ModelProto], object]] = {
    "set_shapes": lambda m: ow.set_shapes(m, {"x": ["M"]}),
    "extract": lambda m: ow.extract(m, ["x"], ["y"]),
    "to_script": ow.to_script,
    "convert_version": lambda m: ow.convert_version(m, 11),
    "optimize": lambda m: ow.optimize(m, target="onnxruntime"),
    "show": lambda m: str(ow.show(m)),
    "debug": lambda m: ow.debug(m, {"x": np.ones(2, np.float32)}),
    "run_model": lambda m: ow.run_model(m, {"x": np.ones(2, np.float32)}),
}


@each("what", MODELS)
@each("call", CALLS)
def test_ends_well(what: str, call: str) -> None:
    assert ended(lambda: CALLS[call](MODELS[what]))


def test_inference_is_not_asked_about_values_that_do_not_exist() -> None:
    text = """<ir_version: 9, opset_import: ["ai.onnx.ml" : 4]>
    g (string[5] x) => (int64[5] y) {
      y = ai.onnx.ml.LabelEncoder <keys_strings = ["a"], values_int64s = [0]> (nowhere) }"""
    assert "nowhere" in str(ow.show(onnx.parser.parse_model(text)))


def test_a_data_file_may_hold_more_than_the_tensor(tmp_path: Path) -> None:
    proto = model("<float[2] w = {1, 2}> { y = Add (x, w) }")
    (tmp_path / "w.bin").write_bytes(np.array([3, 4, 5], np.float32).tobytes())
    weight = proto.graph.initializer[0]
    weight.ClearField("float_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="w.bin")
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    found = ow.debug(str(path), {"x": np.zeros(2, np.float32)})
    np.testing.assert_array_equal(np.asarray(found.outputs["y"]), [3, 4])


def test_attributes_of_scan_and_defaults_of_other_kinds() -> None:
    @script()
    def scanned(x: FLOAT["N"]):
        def body(total, item):
            return total + item, total

        return op.Scan(op.Identity(0.0), x, body=body, num_scan_inputs=b"bytes")

    with pytest.raises(StaticTypeError, match="OW511"):
        scanned.to_model_proto()

    @script()
    def scaled(x: FLOAT["N"], alpha: float = ...):  # type: ignore[assignment]
        return x * alpha

    with pytest.raises(ScriptTypeError, match="OW446"):
        scaled.to_model_proto()


RAGGED: dict[str, Callable[[Any], Any]] = {
    "a range beside a number": lambda x: x[[range(2), 1]],
    "a tuple beside a longer range": lambda x: x[[(1, 2), range(3)]],
    "a row beside an element": lambda x: op.Add(x, [[1.0, x[0, 0]], x[0, 0]]),
}


@each("what", RAGGED)
def test_lists_whose_items_differ_in_shape(what: str) -> None:
    function, given = RAGGED[what], np.ones((4, 4), np.float32)
    with pytest.raises(ScriptValueError, match="OW416"):
        function(ow.Tensor(given))
    with pytest.raises(ScriptValueError, match="OW416"):
        function(ow.GraphBuilder(opset=20).input("x", FLOAT[4, 4]))


ENDS_THE_PROCESS = {
    "LabelEncoder": '<keys_strings = ["a"], values_int64s = [0]>',
    "RegexFullMatch": '<pattern = "a">',
    "EyeLike": "<dtype = 1>",
    "DictVectorizer": '<string_vocabulary = ["a"]>',
}
"""Operators whose inference in onnx reads types that are not known, with attributes."""


@each("name", ENDS_THE_PROCESS)
@each("way", ["untyped", "made by another operator", "in a function"])
def test_inference_is_not_asked_about_values_without_types(name: str, way: str) -> None:
    domain = "" if name in ("EyeLike", "RegexFullMatch") else "ai.onnx.ml."
    call = f"{domain}{name} {ENDS_THE_PROCESS[name]}"
    head = '<ir_version: 10, opset_import: ["" : 20, "ai.onnx.ml" : 4, "f" : 1]>'
    body = {
        "untyped": f"{{ y = {call} (x) }}",
        "made by another operator": f"{{ z = f.other (x) y = {call} (z) }}",
        "in a function": f"{{ y = f.held (x) }} "
        '<domain: "f", opset_import: ["" : 20, "ai.onnx.ml" : 4]>'
        f" held (a, b) => (c) {{ c = {call} (b) }}",
    }[way]
    proto = onnx.parser.parse_model(f"{head} g (float[3] x) => (y) {body}")
    if way == "untyped":
        proto.graph.input[0].ClearField("type")
    assert name in str(ow.show(proto))
    assert name in ow.to_script(proto)


@each("name", ENDS_THE_PROCESS)
@each("body", ["c = {} (b)", "d = f.other (a) c = {} (d)"])
def test_functions_that_would_end_the_process_of_the_runtime(name: str, body: str) -> None:
    domain = "" if name in ("EyeLike", "RegexFullMatch") else "ai.onnx.ml."
    text = body.format(f"{domain}{name} {ENDS_THE_PROCESS[name]}")
    imports = 'opset_import: ["" : 20, "ai.onnx.ml" : 4, "f" : 1]'
    proto = onnx.parser.parse_model(
        f"<ir_version: 10, {imports}> g (float[3] x) => (y) {{ y = f.held (x) }} "
        f'<domain: "f", {imports}> held (a, b) => (c) {{ {text} }}'
    )
    with pytest.raises(ModelError, match="OW744"):
        ow.run_model(proto, [np.zeros(3, np.float32)])
    with pytest.raises(ModelError, match="OW744"):
        ow.CompiledModel(proto.SerializeToString())


def test_types_of_operators_that_need_types_are_shown() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20, "ai.onnx.ml" : 4]>
    g (string[5] x, bool c) => (y) {
      k = ai.onnx.ml.LabelEncoder <keys_strings = ["a"], values_int64s = [0]> (x)
      e = Unsqueeze (k, zero)
      y = If (c) <then_branch = t () => (p) { q = EyeLike (e) p = Neg (q) },
                  else_branch = s () => (r) { r = Neg (e) }>
    }"""
    proto = onnx.parser.parse_model(text)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0]), "zero"))
    shown = str(ow.show(proto))
    assert "k: INT64[5]" in shown
    assert "q: INT64[1, 5]" in shown
    assert "hidden" not in shown


@pytest.mark.parametrize("dims", [[1] * 65, [1 << 60, 0, 1 << 60]])
def test_shapes_that_no_array_has(dims: list[int]) -> None:
    proto = model("<float[1] w = {1}> { y = Add (x, w) }")
    weight = proto.graph.initializer[0]
    del weight.dims[:]
    weight.dims.extend(dims)
    if 0 in dims:
        weight.ClearField("float_data")
    with pytest.raises(ModelError, match="OW751"):
        ow.debug(proto, [np.zeros(1, np.float32)])


def _scan_call(**layout: Any) -> Callable[[], Any]:
    @script()
    def scanned(x: FLOAT["N"]):
        def body(total, item):
            total = total + item
            return total, total

        return op.Scan(op.Identity(0.0), x, body=body, **layout)

    return scanned


SCANS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"num_scan_inputs": 1 << 31}, "OW620"),
    ({"num_scan_inputs": 3}, "OW620"),
    ({"num_scan_inputs": 0}, "OW620"),
    ({"num_scan_inputs": -5}, "OW620"),
    ({"num_scan_inputs": 10**30}, "OW513"),
    ({"num_scan_inputs": 1, "scan_input_axes": [5]}, "OW620"),
    ({"num_scan_inputs": 1, "scan_input_axes": [1 << 70]}, "OW513"),
    ({"num_scan_inputs": 1, "scan_input_axes": 5}, "OW511"),
    ({"num_scan_inputs": 1, "scan_input_axes": [None]}, "OW511"),
    ({"num_scan_inputs": 1, "scan_input_axes": [0, 0]}, "OW620"),
    ({"num_scan_inputs": 1, "scan_input_directions": [7]}, "OW620"),
    ({"num_scan_inputs": 1, "scan_output_axes": [7]}, "OW620"),
    ({"num_scan_inputs": 1, "scan_output_axes": [0, 0]}, "OW620"),
)


@each(("layout", "code"), SCANS)
def test_scans_that_do_not_fit_their_inputs(layout: dict[str, Any], code: str) -> None:
    made: Any = _scan_call(**layout)
    with pytest.raises(ScriptError, match=code):
        made.to_model_proto()
    with pytest.raises(OnnxwrightError, match=code):
        made(np.ones(2, np.float32))


def test_a_scan_of_nothing_gives_its_state() -> None:
    made: Any = _scan_call(num_scan_inputs=1, scan_output_axes=[0])
    np.testing.assert_array_equal(made(np.zeros(0, np.float32)), 0)


COUNTS: dict[str, Callable[[Any], Any]] = {
    "outputs": lambda x: op.Split(x, num_outputs=1 << 31),
    "no outputs": lambda x: op.Split(x, num_outputs=0),
    "an element type": lambda x: op.Cast(x, to=1 << 40),
    "element type 0": lambda x: op.Cast(x, to=0),
    "the type of random numbers": lambda x: op.RandomNormal(shape=[2], dtype=99),
}


@each("what", COUNTS)
def test_attribute_values_that_the_operator_cannot_have(what: str) -> None:
    call = COUNTS[what]

    @script()
    def f(x: FLOAT["N"]):
        return call(x)

    for run in (f.to_model_proto, lambda: f(np.ones(2, np.float32)),
                lambda: call(np.ones(2, np.float32))):  # fmt: skip
        with pytest.raises(ScriptValueError, match="OW513"):
            run()


DEFAULTS: tuple[tuple[Any, Any], ...] = (
    (int, [None]),
    (int, np.array([1, 2])),
    (Sequence[int], (None,)),
    (Sequence[int], ((1,),)),
    (Sequence[int], np.array([[1, 2]])),
    (Sequence[int], (1, 10**30)),
    (Sequence[int], (1, 1.5)),
    (Sequence[float], (None,)),
    (Sequence[float], (1.0, "a")),
    (Sequence[str], ("a", 1)),
    (Sequence[str], (b"\xff",)),
    (str, b"\xff"),
)


@each(("kind", "default"), DEFAULTS)
def test_defaults_that_their_annotation_does_not_take(kind: Any, default: Any) -> None:
    def callee(x, a=default):
        return x + 1.0

    callee.__annotations__ |= {"x": FLOAT["N"], "a": kind}
    with pytest.raises(ScriptTypeError, match="OW446"):
        script()(callee).to_function_proto()


FITTING: tuple[tuple[Any, Any], ...] = (
    (Sequence[int], np.array([1, 2])),
    (Sequence[float], (1, 2.5)),
    (Sequence[int], ()),
    (int, np.int64(2)),
)


@each(("kind", "default"), FITTING)
def test_defaults_that_fit(kind: Any, default: Any) -> None:
    def callee(x, a=default):
        return x + 1.0

    callee.__annotations__ |= {"x": FLOAT["N"], "a": kind}
    made = script()(callee).to_function_proto()
    assert [a.name for a in made.attribute_proto] == ["a"]


def test_bytes_that_are_not_text_are_not_an_attribute() -> None:
    @script()
    def f():
        return op.Constant(value_strings=[b"\xff"])

    with pytest.raises(ScriptTypeError, match="OW532"):
        f.to_model_proto()


def edited(body: str, change: Callable[[onnx.ModelProto], object]) -> onnx.ModelProto:
    """A model of one node, changed."""
    made = model(body)
    change(made)
    return made


def nth(body: str, n: int, value: str) -> onnx.ModelProto:
    """A model whose first node has another name as one of its inputs."""
    return edited(body, lambda m: m.graph.node[0].input.__setitem__(n, value))


INVALID: dict[str, Callable[[], onnx.ModelProto]] = {
    "an absent variadic input": lambda: nth("{ y = Sum (x, x) }", 1, ""),
    "an absent input": lambda: nth("{ y = Add (x, x) }", 1, ""),
    "too few inputs": lambda: edited("{ y = Add (x, x) }", lambda m: m.graph.node[0].input.pop()),
    "too many outputs": lambda: edited(
        "{ y = Relu (x) }", lambda m: m.graph.node[0].output.append("z")
    ),
    "an output without a name": lambda: edited(
        "{ y, m = Dropout (x)  z = Neg(m) }", lambda m: m.graph.node[0].output.__setitem__(0, "")
    ),
    "a missing attribute": lambda: model("{ y = Concat (x, x) }"),
    "an attribute of another kind": lambda: model("{ y = Softmax <axis = 1.0> (x) }"),
    "another number of parts": lambda: model("{ y, z = Split <num_outputs = 3> (x) }"),
    "an empty range": lambda: model("{ y = RandomUniformLike <low = 2.0> (x) }"),
    "no deviation": lambda: model("{ y = RandomNormalLike <scale = 0.0> (x) }"),
    "blocks too large": lambda: model("{ y = DepthToSpace <blocksize = 4611686018427387904> (x) }"),
    "negative batch dimensions": lambda: model(
        "{ i = Constant <value_ints = [0]> () y = GatherND <batch_dims = -2> (x, i) }"
    ),
    "an equation that cannot be read": lambda: edited(
        '{ y = Einsum <equation = "i"> (x) }',
        lambda m: setattr(m.graph.node[0].attribute[0], "s", b"\0"),
    ),
}


@each("what", INVALID)
def test_nodes_that_end_the_process_of_a_runtime_do_not_reach_it(what: str) -> None:
    made = INVALID[what]()
    with pytest.raises(ModelError, match="OW744"):
        ow.CompiledModel(made)
    assert str(ow.show(made))


FUNCTION = """<ir_version: 9, opset_import: ["" : 18, "f" : 1]>
g (float[2] x) => (float[N] y) { y = f.k (x) }
<domain: "f", opset_import: ["" : 18, "f" : 1]> k (x, b) => (y) { y = f.l (x, b) }
<domain: "f", opset_import: ["" : 18]> l (x, b) => (y) { CALL }"""
BRANCHES = """c = OptionalHasElement (b) y = If (c) <
    then_branch = t () => (z) { z = Concat <axis = 0> (x, b) },
    else_branch = e () => (w) { w = Neg (x) }>"""


@pytest.mark.parametrize("call", ["y = Add (x, b)", "y = Max (x, b)"])
def test_inputs_that_a_call_leaves_out_and_a_node_needs(call: str) -> None:
    with pytest.raises(ModelError, match=r"OW744.*a call of the function omits"):
        ow.CompiledModel(onnx.parser.parse_model(FUNCTION.replace("CALL", call)))


@pytest.mark.parametrize("call", ["y = Clip (x, b)", BRANCHES])
def test_inputs_that_a_call_may_leave_out(call: str) -> None:
    made = onnx.parser.parse_model(FUNCTION.replace("CALL", call))
    assert ow.run_model(made, [np.ones(2, np.float32)])[0].shape == (2,)


ONE = np.float32(1)
RANKS: dict[str, Callable[[], Any]] = {
    "Conv": lambda: op.Conv(ONE, ONE),
    "ConvInteger": lambda: op.ConvInteger(np.uint8(1), np.uint8(1)),
    "DFT": lambda: op.DFT(ONE),
    "GridSample": lambda: op.GridSample(ONE, ONE),
    "MaxRoiPool": lambda: op.MaxRoiPool(ONE, ONE, pooled_shape=[1, 1]),
    "ReverseSequence": lambda: op.ReverseSequence(np.ones(3, np.float32), np.array([1])),
    "RoiAlign": lambda: op.RoiAlign(ONE, ONE, np.array([5])),
    "STFT": lambda: op.STFT(ONE, np.int64(1)),
    "STFT, window": lambda: op.STFT(np.ones((1, 4, 1), np.float32), np.int64(1), ONE),
    "Einsum": lambda: op.Einsum(np.ones(2, np.float32), equation="ij"),
    "Einsum, second": lambda: op.Einsum(np.ones((2, 2), np.float32), ONE, equation="ij, j -> i"),
    "RandomUniform": lambda: op.RandomUniform(shape=[2], low=3.0),
    "RandomNormal": lambda: op.RandomNormal(shape=[2], scale=-1.0),
    "GatherND": lambda: op.GatherND(np.ones(3, np.float32), np.array([[1]]), batch_dims=-2),
}


@each("name", RANKS)
def test_eager_calls_that_end_the_process_of_the_runtime_do_not_reach_it(name: str) -> None:
    with pytest.raises(OnnxwrightError, match="OW612"):
        RANKS[name]()


def test_windows_that_no_run_visits() -> None:
    x = np.ones((1, 1, 4, 4), np.float32)
    for pool in (op.LpPool, op.AveragePool, op.MaxPool):
        with pytest.raises(OnnxwrightError, match="kernel_shape"):
            pool(x, kernel_shape=[1 << 40, 2], auto_pad="SAME_LOWER")


def test_the_graph_of_any_node_computes_its_output() -> None:
    made = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 20, "my" : 1]>
        g (float[N] x) => (float[N] y) {
          y = my.f (x) <body: graph = b (float[N] v) => (float[N] x) { w = Neg (v) }> }"""
    )
    with pytest.raises(ModelError, match="not computed in it"):
        ow.set_shapes(made, {"x": ["M"]})


@pytest.mark.parametrize("last", [-(2**63), -(2**70)])
def test_loops_of_more_iterations_than_an_index_counts(last: int) -> None:
    @script()
    def f(x: FLOAT["N"]):
        for i in range(3, last, -1):
            x = x + i
        return x

    with pytest.raises(ScriptError, match="OW317"):
        f.to_model_proto()


def test_a_default_that_is_a_type_is_refused() -> None:
    @script()
    def f(x: FLOAT["N"], times: int = FLOAT):  # type: ignore[assignment]
        return x * times

    with pytest.raises(ScriptTypeError, match="OW446"):
        f.to_function_proto()


@each("number", [1j, 2 + 1j, [1.0, 1j]])
def test_the_imaginary_part_of_a_number_is_not_dropped(number: Any) -> None:
    @script()
    def added(x: FLOAT["N"]):
        return op.Add(x, number)

    for run in (added.to_model_proto, lambda: added(np.ones(2, np.float32))):
        with pytest.raises(ScriptValueError, match="OW404"):
            run()


@pytest.mark.parametrize("more", [{"axis": 1}, {1: 2}])
def test_keywords_of_a_call_are_those_that_python_takes(more: dict[Any, int]) -> None:
    @script()
    def joined(x: FLOAT["N"]):
        return op.Concat(x, x, axis=0, **more)

    with pytest.raises(TypeError, match="keyword"):
        joined(np.ones(2, np.float32))
    with pytest.raises(StaticTypeError, match=r"OW208.*keyword"):
        joined.to_model_proto()


def test_a_trillion_empty_rows_are_not_written() -> None:
    empty = model("{ y = Neg (x) }")
    empty.graph.initializer.add(name="w", data_type=1, dims=[1 << 40, 0])
    other = model("<float[1] w = {1}> { y = Neg (x) }")
    with pytest.raises(AssertionError, match="not isomorphic"):
        assert_isomorphic(empty, other)
    made = as_data(np.empty((1 << 40, 0), np.float32))
    assert (made["shape"], made["data"]) == ([1 << 40, 0], None)
    b = ow.GraphBuilder(opset=20)
    with pytest.raises(OnnxwrightError) as found:
        b.op.Add(b.input("x", FLOAT[2]), np.empty((1 << 40, 0), np.float32))
    assert len(str(found.value)) < 2000


def test_a_script_is_not_written_to_a_link_that_leads_to_itself(tmp_path, capsys) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    path = tmp_path / "m.onnx"
    onnx.save(model("{ y = Neg (x) }"), path)
    assert main(["to-script", str(path), "-o", str(tmp_path / "one")]) == 2
    assert "cannot be written" in capsys.readouterr().err
