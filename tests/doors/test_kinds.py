"""Every function that takes a model takes every kind of model, and gives the same kind back.

One row of `FUNCTIONS` for each public function, one of `KINDS` for each kind of model.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onnxwright as ow
from onnxwright import FLOAT
from onnxwright import opset18 as op
from onnxwright.errors import ModelError
from onnxwright.ir import model_kinds
from onnxwright.testing import assert_isomorphic, find_difference
from tests.harness.tables import each

X = np.array([[-1.0, 2.0, 3.0]], np.float32)


@ow.script
def scaled(x: FLOAT["N", 3]) -> FLOAT["N", 3]:
    h = op.Abs(x)
    return op.Sqrt(h)


PROTO = scaled.to_model_proto()
IN, OUT = PROTO.graph.input[0].name, PROTO.graph.output[0].name
EXPECTED = np.sqrt(np.abs(X))


def in_file(folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(PROTO.SerializeToString())
    return path


def builder(_: Path) -> ow.GraphBuilder:
    g = ow.GraphBuilder(opset=18)
    x = g.input(IN, FLOAT["N", 3])
    g.output(g.op.Sqrt(g.op.Abs(x)), OUT)
    return g


def our_program(_: Path) -> Any:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return ow.export(_net(torch), (torch.zeros(1, 3),), input_names=[IN], output_names=[OUT])


def torch_program(_: Path) -> Any:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from torch.onnx import ONNXProgram

    net = torch.export.export(_net(torch), (torch.zeros(1, 3),))
    return ONNXProgram(ir.from_proto(PROTO), net)


def _net(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.abs().sqrt()

    return Net()


@dataclass(frozen=True)
class Kind:
    """A kind of model: how one is made, and what a change of it is."""

    make: Callable[[Path], Any]
    back: str
    changed: str = ""
    """What is returned where inputs or outputs change; as `back` if empty."""


KINDS = {
    "path": Kind(lambda folder: str(in_file(folder)), "onnx_ir.Model"),
    "PathLike": Kind(in_file, "onnx_ir.Model"),
    "file": Kind(lambda _: io.BytesIO(PROTO.SerializeToString()), "onnx_ir.Model"),
    "bytes": Kind(lambda _: PROTO.SerializeToString(), "bytes"),
    "bytearray": Kind(lambda _: bytearray(PROTO.SerializeToString()), "bytes"),
    "ModelProto": Kind(lambda _: PROTO, "ModelProto"),
    "onnx_ir.Model": Kind(lambda _: ir.from_proto(PROTO), "onnx_ir.Model"),
    "ONNXProgram": Kind(our_program, "ONNXProgram", "onnx_ir.Model"),
    "torch.onnx.ONNXProgram": Kind(torch_program, "torch.onnx.ONNXProgram", "onnx_ir.Model"),
    "script": Kind(lambda _: scaled, "ModelProto"),
    "GraphBuilder": Kind(builder, "ModelProto"),
}


def kind_of(model: Any) -> str:
    """The name of the kind of what a function returned."""
    if isinstance(model, ir.Model):
        return "onnx_ir.Model"
    package = "torch.onnx." if type(model).__module__.startswith("torch.") else ""
    return package + type(model).__name__


abs_of_abs = ow.rule(lambda op, x: op.Abs(op.Abs(x)), name="abs_of_abs").to(lambda op, x: op.Abs(x))


# Functions that return a model with the same inputs and outputs.
SAME: dict[str, Callable[[Any], Any]] = {
    "optimize": ow.optimize,
    "rewrite": lambda m: ow.rewrite(m, abs_of_abs),
    "optimize only": lambda m: ow.optimize(m, only=abs_of_abs),
    "convert_version": lambda m: ow.convert_version(m, 20),
    "fold_constants": ow.fold_constants,
    "inline": ow.inline,
    "remove_unused": ow.remove_unused,
    "remove_metadata": ow.remove_metadata,
    "replace_functions": lambda m: ow.replace_functions(m, {}),
    "quantize_weights": ow.quantize_weights,
    "to_half": lambda m: ow.to_half(m, keep=["*"]),
}
# Functions whose result has other inputs or outputs, or other types of them.
CHANGED: dict[str, Callable[[Any], Any]] = {
    "extract": lambda m: ow.extract(m, [IN], [OUT]),
    "compose": lambda m: ow.compose(m, PROTO, {OUT: IN}, prefix="b_", outputs=["b_" + OUT]),
    "compose second": lambda m: ow.compose(PROTO, m, {OUT: IN}, prefix="b_"),
    "rename": lambda m: ow.rename(m, inputs={IN: "first"}),
    "set_shapes": lambda m: ow.set_shapes(m, {IN: [1, 3]}),
    "initializers_to_inputs": lambda m: ow.initializers_to_inputs(m, []),
    "inputs_to_initializers": lambda m: ow.inputs_to_initializers(m, []),
}
# Functions that return something else: what it is, checked.
READING: dict[str, Callable[[Any], bool]] = {
    "find": lambda m: len(ow.find(m, lambda op, x: op.Sqrt(op.Abs(x)))) == 1,
    "to_script": lambda m: "Sqrt" in ow.to_script(m) and "Abs" in ow.to_script(_again(m)),
    "show": lambda m: ow.show(m).summary.operators == {"Abs": 1, "Sqrt": 1},
    "diff": lambda m: "Sqrt" not in str(ow.diff(m, PROTO)),
    "diff second": lambda m: "Sqrt" not in str(ow.diff(PROTO, m)),
    "diff with a script": lambda m: "Sqrt" not in str(ow.diff(m, scaled)),
    "testing.find_difference": lambda m: find_difference(m, PROTO, **_LOOSE) is None,
    "testing.assert_isomorphic": lambda m: assert_isomorphic(PROTO, m, **_LOOSE) is None,
    "run_model": lambda m: np.array_equal(ow.run_model(m, [X])[0], EXPECTED),
    "CompiledModel": lambda m: np.array_equal(ow.CompiledModel(m)(X), EXPECTED),
    "debug": lambda m: np.array_equal(ow.debug(m, [X]).outputs[OUT], EXPECTED),
    "first_divergence": lambda m: ow.first_divergence(m, scaled, [X]) is None,
    "first_divergence second": lambda m: ow.first_divergence(PROTO, m, [X]) is None,
    "GraphBuilder.from_model": lambda m: list(ow.GraphBuilder.from_model(m).outputs) == [OUT],
    "GraphBuilder.call": lambda m: _called(m).graph.output[0].name == "z",
    "load": lambda m: isinstance(ow.load(m), ir.Model),
}
_LOOSE = dict.fromkeys(
    ("types", "value_infos", "graph_names", "doc_strings", "metadata", "opset_imports",
     "ir_version", "producer", "io_names"), False,
)  # fmt: skip


def _again(model: Any) -> Any:
    """A file goes on from where it was read."""
    if isinstance(model, io.BytesIO):
        model.seek(0)
    return model


def _called(model: Any) -> onnx.ModelProto:
    g = ow.GraphBuilder(opset=18)
    x = g.input("x", FLOAT["N", 3])
    g.output(g.call(model, x), "z")
    return g.to_model_proto()


def same_numbers(model: Any, expected: Any = EXPECTED) -> None:
    held = model.model if hasattr(model, "exported_program") else model
    np.testing.assert_allclose(ow.run_model(held, [X])[0], expected, rtol=1e-6)


def unchanged(source: Any) -> bytes:
    """The bytes of a model, to see that it is not changed; a builder is finished by the first."""
    if isinstance(source, io.BytesIO):
        return source.getvalue()
    if isinstance(source, (str, Path)):
        return Path(source).read_bytes()
    return ir.to_proto(ow.load(source)).SerializeToString(deterministic=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", SAME)
def test_the_same_kind_comes_out(function: str, kind: str, tmp_path: Path) -> None:
    source = KINDS[kind].make(tmp_path)
    before = unchanged(source)
    new_model = SAME[function](source)
    assert kind_of(new_model) == KINDS[kind].back
    same_numbers(new_model)
    assert unchanged(source) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", CHANGED)
def test_a_changed_model_is_of_the_same_kind(function: str, kind: str, tmp_path: Path) -> None:
    source = KINDS[kind].make(tmp_path)
    before = unchanged(source)
    new_model = CHANGED[function](source)
    if function == "compose second":  # the first one says the kind
        assert kind_of(new_model) == "ModelProto"
    else:
        assert kind_of(new_model) == (KINDS[kind].changed or KINDS[kind].back)
    same_numbers(new_model, np.sqrt(EXPECTED) if "compose" in function else EXPECTED)
    assert unchanged(source) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", READING)
def test_every_kind_is_read(function: str, kind: str, tmp_path: Path) -> None:
    source = KINDS[kind].make(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert READING[function](source)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_saved(kind: str, tmp_path: Path) -> None:
    source = KINDS[kind].make(tmp_path)
    for ending in (".onnx", ".json", ".textproto"):
        path = ow.save(_again(source), tmp_path / f"saved{ending}")
        same_numbers(ow.load(path))


@pytest.mark.parametrize("kind", KINDS)
def test_output_is_a_path(kind: str, tmp_path: Path) -> None:
    path = ow.extract(KINDS[kind].make(tmp_path), [IN], [OUT], output=tmp_path / "part.onnx")
    assert path == tmp_path / "part.onnx"
    same_numbers(path)


TAKES_FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "find": lambda f: len(ow.find(f, lambda op, x: op.Abs(x))) == 1,
    "to_script": lambda f: "Sqrt" in ow.to_script(f),
    "show": lambda f: "Sqrt" in str(ow.show(f)),
    "diff": lambda f: not ow.diff(f, scaled),
    "testing.assert_isomorphic": lambda f: assert_isomorphic(f, scaled) is None,
}
ALL = {**SAME, **CHANGED, **READING, "save": lambda m: ow.save(m, "nowhere.onnx")}


@each("function", TAKES_FUNCTIONS)
def test_a_function_proto_is_taken_where_it_has_a_meaning(function: str) -> None:
    assert TAKES_FUNCTIONS[function](scaled.to_function_proto())


def _takes_functions(name: str) -> bool:
    return name.partition(" ")[0].removeprefix("testing.") in (
        "find", "to_script", "show", "diff", "assert_isomorphic", "find_difference",
        "GraphBuilder.call",
    )  # fmt: skip


@each("function", [n for n in ALL if not _takes_functions(n)])
def test_elsewhere_a_function_proto_is_refused(function: str) -> None:
    with pytest.raises(TypeError, match=r"OW752(.|\n)*`FunctionProto`(.|\n)*part of a model"):
        ALL[function](scaled.to_function_proto())


@each("source", [3, None, [], object(), PROTO.graph.node[0]])
@each("function", [n for n in ALL if n != "GraphBuilder.call"])
def test_what_is_not_a_model_is_refused_by_one_error(source: Any, function: str) -> None:
    with pytest.raises(TypeError, match="OW752") as caught:
        ALL[function](source)
    text = str(caught.value)
    assert f"`{type(source).__name__}`" in text
    for kind in model_kinds.registered():  # everything that is taken is listed
        assert kind.words in text or kind.words.partition(" ")[2] in text


@each("data", [b"", b"\x00", b"not a model", PROTO.SerializeToString()[:-9]])
@each("function", ALL)
def test_damaged_bytes_give_an_error_of_the_loader(data: bytes, function: str) -> None:
    with pytest.raises(ModelError, match="OW7[45]"):
        ALL[function](data)


def test_trace_takes_inputs_as_debug_does() -> None:
    for inputs in ([X], (X,), {IN: X}):
        np.testing.assert_array_equal(ow.trace(scaled, inputs).result, EXPECTED)
    np.testing.assert_array_equal(ow.trace(scaled, X).result, EXPECTED)


def test_trace_of_two_inputs() -> None:
    def add(x, y):
        return op.Add(x, y)

    assert ow.trace(add, [X, X]).result.tolist() == (X + X).tolist()
    assert ow.trace(add, {"y": X, "x": X}).result.tolist() == (X + X).tolist()


def test_a_list_that_is_one_argument_stays_one() -> None:
    def total(values):
        return op.Add(values[0], values[1])

    assert ow.trace(total, [X, X]).result.tolist() == (X + X).tolist()

    @ow.script
    def negated(x: FLOAT[2]) -> FLOAT[2]:
        return op.Neg(x)

    assert ow.trace(negated, [1.0, 2.0]).result.tolist() == [-1.0, -2.0]


def test_trace_of_a_sequence() -> None:
    @ow.script
    def joined(x: Sequence[FLOAT[...]]) -> FLOAT[...]:
        return op.ConcatFromSequence(x, axis=0)

    assert ow.trace(joined, [X[0]]).result.tolist() == X[0].tolist()


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "script"])
def test_trace_of_a_model_is_refused(kind: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"OW752(.|\n)*function is expected(.|\n)*`debug`"):
        ow.trace(KINDS[kind].make(tmp_path), [X])
