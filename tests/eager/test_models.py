"""Whole models as one session, and node by node."""

from __future__ import annotations

import copy
import pickle
import typing
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

from onnxwright import FLOAT, script
from onnxwright import opset18 as op
from onnxwright.diagnostics.origins import span_of_origin as parse_origin
from onnxwright.eager import CompiledModel, Tensor, run_model
from onnxwright.eager.ort.model_sources import source_of
from onnxwright.errors import EagerError
from tests.harness.tables import each

X = np.arange(4, dtype=np.float32)


def model(inputs: str, outputs: str, body: str) -> onnx.ModelProto:
    text = f'<ir_version: 10, opset_import: ["" : 18]> g ({inputs}) => ({outputs}) {{ {body} }}'
    return onnx.parser.parse_model(text)


NEG = model("float[N] x", "float[N] y", "y = Neg(x)")
TWO = model("float[N] x, float[N] w", "float[N] y, float[N] z", "y = Add(x, w) z = Sub(x, w)")


def test_calls_and_kinds() -> None:
    run = CompiledModel(NEG)
    assert run(X).tolist() == (-X).tolist()
    assert type(run(Tensor(X))) is Tensor
    assert run(x=[1.0, 2.0]).tolist() == [-1, -2]
    two = CompiledModel(TWO)
    y, z = two(X, w=X)
    assert z.tolist() == [0, 0, 0, 0]
    assert (two.input_names, two.output_names) == (("x", "w"), ("y", "z"))


def test_from_bytes_and_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(NEG, path)
    for source in (NEG.SerializeToString(), str(path), path):
        assert CompiledModel(source)(X).tolist() == (-X).tolist()


BAD = {
    "missing": (lambda run: run(X), "`w` is missing"),
    "too many": (lambda run: run(X, X, X), "3 were given, it has 2"),
    "unknown": (lambda run: run(X, X, q=X), "no input `q`"),
    "twice": (lambda run: run(X, X, x=X), "`x` is given twice"),
    "another type": (lambda run: run(X, X.astype(np.int64)), "`w` is INT64"),
    "another rank": (lambda run: run(X, np.ones((2, 2), np.float32)), "`w` is FLOAT[2, 2]"),
}


@each("what", BAD)
def test_wrong_inputs_are_told(what: str) -> None:
    act, words = BAD[what]
    with pytest.raises(EagerError, match="OW621") as caught:
        act(CompiledModel(TWO))
    assert words in str(caught.value)


def test_narrow_types() -> None:
    run = CompiledModel(model("bfloat16[N] x", "bfloat16[N] y", "y = Identity(x)"))
    x = np.ones(3, ml_dtypes.bfloat16)
    assert run(x).dtype == x.dtype


def test_sequences() -> None:
    run = CompiledModel(
        model("seq(float[N]) x, float[N] v", "seq(float[N]) y", "y = SequenceInsert(x, v)")
    )
    assert len(run([X], X)) == 2
    assert len(run([], X)) == 1


def test_a_failing_node_is_named_with_its_python_line() -> None:
    @script
    def inner(x: FLOAT["N"], y: FLOAT["M"]) -> FLOAT["K"]:
        return op.Add(x, y)  # the line that fails

    @script
    def outer(x: FLOAT["N"], y: FLOAT["M"]) -> FLOAT["K"]:
        return inner(op.Relu(x), y)

    run = CompiledModel(outer.to_model_proto())
    with pytest.raises(EagerError) as caught:
        run(np.ones(2, np.float32), np.ones(3, np.float32))
    text = str(caught.value)
    assert "`Add` failed on (FLOAT[2], FLOAT[3])" in text
    assert "the line that fails" in text
    assert "Add(A: T, B: T)" in text
    assert caught.value.__cause__ is not None


def test_a_refused_model_is_told() -> None:
    bad = model("float[N] x", "float[N] y", "y = Neg(x)")
    bad.graph.node[0].op_type = "Negg"
    with pytest.raises(EagerError, match="OW622"):
        CompiledModel(bad)


def test_an_onnx_ir_model_is_a_model() -> None:
    import onnx_ir

    from onnxwright import debug

    ir_model = onnx_ir.from_proto(NEG)
    assert CompiledModel(ir_model)(X).tolist() == (-X).tolist()
    assert run_model(ir_model, [X])[0].tolist() == (-X).tolist()
    assert [r.op for r in debug(ir_model, [X])] == ["Neg"]


def test_run_model_takes_bytes_and_files(tmp_path: Path) -> None:
    path = tmp_path / "neg.onnx"
    path.write_bytes(NEG.SerializeToString())
    for source in (NEG.SerializeToString(), path, str(path)):
        assert run_model(source, [X])[0].tolist() == (-X).tolist()
    with pytest.raises(FileNotFoundError, match="OW741"):
        run_model(tmp_path / "none.onnx", [X])
    with pytest.raises(TypeError, match="OW752"):
        run_model(7, [X])


def test_run_model_keeps_its_session() -> None:
    assert run_model(NEG, [X])[0].tolist() == (-X).tolist()
    assert run_model(NEG, {"x": X})[0].tolist() == (-X).tolist()


PLACES = {
    "m.py:3:5": ("m.py", 3, 4, 3, 5),
    "C:\\a b\\m.py:3:5": ("C:\\a b\\m.py", 3, 4, 3, 5),
    "m.py:3:5-4:7": ("m.py", 3, 4, 4, 6),
    "nonsense": None,
}


@each("text", PLACES)
def test_places_are_read(text: str) -> None:
    span = parse_origin(text)
    expected = PLACES[text]
    places = None if span is None else (span.file, span.line, span.col, span.end_line, span.end_col)
    assert places == expected


MODEL_FORMS = {
    "a proto": lambda proto, folder: proto,
    "bytes": lambda proto, folder: proto.SerializeToString(),
    "a path": lambda proto, folder: _saved(proto, folder),
}


def _saved(proto: onnx.ModelProto, folder: Path) -> Path:
    onnx.save(proto, folder / "negate.onnx")
    return folder / "negate.onnx"


@pytest.mark.parametrize("form", MODEL_FORMS)
@pytest.mark.parametrize("how", ["pickle", "copy", "deepcopy"])
def test_a_compiled_model_can_be_pickled_and_copied(form: str, how: str, tmp_path: Path) -> None:
    """Worker processes get a model this way; each makes a session of its own."""
    run = CompiledModel(
        MODEL_FORMS[form](model("float[N] x", "float[N] y", "y = Neg(x)"), tmp_path)
    )
    ways = {
        "pickle": lambda r: pickle.loads(pickle.dumps(r)),
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
    }
    again = ways[how](run)
    x = np.array([1.0, -2.0], np.float32)
    np.testing.assert_array_equal(again(x), run(x))
    assert again.session is not run.session


def test_a_compiled_model_with_session_options_says_why_it_cannot_be_pickled() -> None:
    options = onnxruntime.SessionOptions()
    run = CompiledModel(model("float[N] x", "float[N] y", "y = Neg(x)"), session_options=options)
    with pytest.raises(TypeError, match="session_options"):
        pickle.dumps(run)


@script
def _doubled(x: FLOAT["N"], times: int = 2) -> FLOAT["N"]:
    return x * op.CastLike(op.Constant(value_int=times), x)


def test_a_compiled_script_and_type_hints_follow_the_function() -> None:
    compiled = _doubled.compile()
    x = np.array([1.0, -2.0], np.float32)
    np.testing.assert_array_equal(compiled(x), x * 2)
    copied = copy.copy(compiled)
    assert copied.sessions == {}
    np.testing.assert_array_equal(copied(x), x * 2)
    hints = typing.get_type_hints(_doubled, globalns=globals())
    assert list(hints) == ["x", "times", "return"]
    assert hints["times"] is int


def test_many_calls_of_functions_are_inlined_before_the_runtime_sees_them() -> None:
    head = 'opset_import: ["" : 18, "f" : 1]'
    bodies = [f"t = f.f{n + 1} (x) y = f.f{n + 1} (t)" for n in range(13)] + ["y = Neg (x)"]
    functions = "".join(
        f'<domain: "f", {head}> f{n} (x) => (y) {{ {body} }}\n' for n, body in enumerate(bodies)
    )
    proto = onnx.parser.parse_model(
        f"<ir_version: 8, {head}> g (float[N] x) => (float[N] y) {{ y = f.f0 (x) }} {functions}"
    )
    source = source_of(proto)
    assert isinstance(source.data, bytes)
    inlined = onnx.load_from_string(source.data)
    assert [len(inlined.functions), len(inlined.graph.node)] == [0, 1 << 13]
    assert source.proto is not None
    assert len(source.proto.functions) == 14


_DEFAULTS = """<ir_version: 8, opset_import: ["" : 18]>
g (float[2] x, float[2] w, bfloat16[1] b) => (float[2] y)
<float[2] w = {1, 2}, bfloat16[1] b = {0}>
{ c = Cast<to = 1>(b) h = Add(x, w) y = Add(h, c) }"""


def test_an_initializer_that_is_an_input_can_be_given_by_name() -> None:
    model = onnx.parser.parse_model(_DEFAULTS)
    assert [i.name for i in model.graph.input] == ["x", "w", "b"]
    x, w = np.ones(2, np.float32), np.array([5, 7], np.float32)
    compiled = CompiledModel(model)
    assert compiled.input_names == ("x",)
    np.testing.assert_array_equal(run_model(model, {"x": x})[0], [2, 3])
    np.testing.assert_array_equal(run_model(model, {"x": x, "w": w})[0], [6, 8])
    np.testing.assert_array_equal(compiled(x, w=w), [6, 8])
    half = np.array([0.5], ml_dtypes.bfloat16)
    np.testing.assert_array_equal(compiled(x, w=w, b=half), [6.5, 8.5])
    with pytest.raises(EagerError, match="`w` is FLOAT\\[3\\]"):
        compiled(x, w=np.ones(3, np.float32))
    with pytest.raises(EagerError, match="it has no input `v`"):
        compiled(x, v=w)


@each(
    ("version", "call", "noted"),
    [
        (99, "Relu(x)", True),
        (24, "my.Unknown(x)", False),
        (23, "my.Unknown(x)", False),
    ],
)
def test_a_refused_version_is_explained_with_the_words_of_the_guide(
    version: int, call: str, noted: bool
) -> None:
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : {version}, "my" : 1]>'
        f"g (float[2] x) => (float[2] y) {{ y = {call} }}"
    )
    with pytest.raises(EagerError, match="OW622") as error:
        run_model(model, [np.ones(2, np.float32)])
    text = str(error.value)
    assert (f"the model has opset {version}" in text) == noted
    assert ("the default opset is 23" in text) == noted
    assert ("the latest opset is" in text) == noted
