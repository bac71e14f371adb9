"""Tensors without the axes or elements that kernels read: they end the process there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

import onnxwright as ow
from onnxwright import opset18 as op
from onnxwright.eager.ort import sessions
from onnxwright.eager.ort.rank_guards import with_rank_guards
from onnxwright.errors import EagerError
from tests.harness.tables import each

HEAD = '<ir_version: 10, opset_import: ["" : 17, "my" : 1]> '


def model(text: str, *untyped: str) -> onnx.ModelProto:
    """A model; the inputs that are named have any rank."""
    proto = parser.parse_model(HEAD + text)
    for info in proto.graph.input:
        if info.name in untyped:
            info.type.tensor_type.ClearField("shape")
    return proto


def ones(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.ones(shape, dtype)


TWO = "(float x, float w) => (float y)"
AT_INPUTS = {
    "Conv": (f"g {TWO} {{ y = Conv (x, w) }}", (ones(), ones())),
    "Conv of one axis": (f"g {TWO} {{ y = Conv (x, w) }}", (ones(3), ones(3))),
    "Einsum": (f'g {TWO} {{ y = Einsum <equation = "ij,jk->ik"> (x, w) }}', (ones(2), ones(2, 2))),
    "GridSample": (f"g {TWO} {{ y = GridSample (x, w) }}", (ones(), ones())),
    "MaxRoiPool": (
        f"g {TWO} {{ y = MaxRoiPool <pooled_shape = [2, 2]> (x, w) }}",
        (ones(2, 2), ones(2, 5)),
    ),
    "DFT": ("g (float x) => (float y) { y = DFT <axis = 0> (x) }", (ones(),)),
    "STFT": (
        'g (float x, int64 s, int64 w) => (float y) { y = STFT (x, s, "", w) }',
        (ones(), np.array(1), np.array(2)),
    ),
    "ReverseSequence": (
        "g (float x, int64 w) => (float y) { y = ReverseSequence (x, w) }",
        (ones(2), ones(2, dtype=np.int64)),
    ),
    "RoiAlign": (
        "g (float x, float r, int64 b) => (float y) { y = RoiAlign (x, r, b) }",
        (ones(2, 2), ones(2, 4), ones(2, dtype=np.int64)),
    ),
}


@each("what", AT_INPUTS)
def test_inputs_of_any_rank(what: str) -> None:
    text, arrays = AT_INPUTS[what]
    guarded = model(text, "x", "w", "r", "b")
    with pytest.raises(EagerError, match=r"OW612.*ax[ie]s, and it takes"):
        ow.run_model(guarded, list(arrays))


SHAPED = "(float[N] x, int64[R] s) => (float y)"
INSIDE = {
    "a shape that is an input": f"g {SHAPED} {{ r = Reshape (x, s)  y = DFT <axis = 0> (r) }}",
    "a declared shape that is not kept": f"""g {SHAPED} <float[A, B, 2] r> {{
        r = Reshape (x, s)  y = DFT <axis = 0> (r) }}""",
    "a branch": f"""g {SHAPED} {{
        c = Constant <value = bool {{1}}> ()
        y = If (c) <then_branch = t () => (float p) {{
            r = Reshape (x, s)  p = DFT <axis = 0> (r) }},
                    else_branch = e () => (float q) {{ q = Identity (x) }}> }}""",
    "a value from around a branch": f"""g {SHAPED} {{
        r = Reshape (x, s)
        c = Constant <value = bool {{1}}> ()
        y = If (c) <then_branch = t () => (float p) {{ p = DFT <axis = 0> (r) }},
                    else_branch = e () => (float q) {{ q = Identity (x) }}> }}""",
    "a loop": f"""g {SHAPED} {{
        n = Constant <value_int = 1> ()
        y = Loop (n, "", x) <body = b (int64 i, bool k, float[A, B] v) => (bool m, float[A, B] u) {{
            m = Identity (k)  r = Reshape (v, s)  u = DFT <axis = 0> (r) }}> }}""",
    "a function": f"""g {SHAPED} {{ r = Reshape (x, s)  y = my.f (r) }}
        <domain: "my", opset_import: ["" : 17]> f (a) => (b) {{ b = DFT <axis = 0> (a) }}""",
}


@each("what", INSIDE)
def test_ranks_that_the_run_decides(what: str) -> None:
    proto = model(INSIDE[what])
    scalar = {"x": ones(1), "s": np.zeros(0, np.int64)}
    with pytest.raises(EagerError, match="OW6[12]2"):
        ow.run_model(proto, scalar)
    (output,) = ow.run_model(proto, {"x": ones(4), "s": np.array([2, 2, 1])})
    assert np.asarray(output).shape[:2] == (2, 2)


def test_bytes_and_files_say_which_input(tmp_path: Path) -> None:
    proto = model(AT_INPUTS["DFT"][0], "x")
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    for source, text in (
        (proto.SerializeToString(), "its input 0 has 0 axes, and it takes 1"),
        (str(path), "input 0 of DFT has fewer than 1 axis"),
    ):
        with pytest.raises(EagerError, match=text):
            ow.run_model(source, [ones()])
        (output,) = ow.run_model(source, [ones(4, 3, 1)])
        assert output.shape == (4, 3, 2)


def test_external_data_of_a_file_is_found(tmp_path: Path) -> None:
    proto = model(
        "g (float x) => (float y) <float[2] w = {3, 4}> { z = DFT <axis = 0> (x)  y = Add (z, w) }",
        "x",
    )
    path = tmp_path / "m.onnx"
    onnx.save(proto, path, save_as_external_data=True, size_threshold=0, location="w.bin")
    (output,) = ow.run_model(str(path), [ones(1, 1, 1)])
    np.testing.assert_array_equal(output, [[[4, 4]]])


KNOWN = {
    "a shape": model("g (float[N, 1] x) => (float y) { y = DFT <axis = 0> (x) }"),
    "inferred": model("g (float[N, 1] x) => (float y) { z = Neg (x)  y = DFT <axis = 0> (z) }"),
    "a weight of Conv": model(
        "g (float x) => (float y) <float[1, 1, 1] w = {1}> { y = Conv (x, w) }", "x"
    ),
    "a function": model(
        """g (float[N, 1] x) => (float y) { y = my.f (x) }
        <domain: "my", opset_import: ["" : 17]> f (a) => (b) { b = DFT <axis = 0> (a) }"""
    ),
    "nothing of the kind": model("g (float x) => (float y) { y = Neg (x) }", "x"),
}


TOO_FEW = {
    "an input": "g (float[A, B] x, float[C] w) => (float y) { y = Einsum<equation = E> (x, w) }",
    "a value": """g (float[A, B] x, float[C] w) => (float y) {
        v = Neg (w)  y = Einsum<equation = E> (x, v) }""",
    "a function": """g (float[A, B] x, float[C] w) => (float y) { y = my.f (x, w) }
        <domain: "my", opset_import: ["" : 17]> f (a, b) => (c) {
            c = Einsum<equation = E> (a, b) }""",
}


@each("what", TOO_FEW)
def test_too_few_axes_known_before(what: str) -> None:
    proto = model(TOO_FEW[what].replace("E>", '"ij,jk->ik">'))
    with pytest.raises(EagerError, match="OW622.*input 1 of Einsum has 1 axis, and it takes 2"):
        ow.run_model(proto, [ones(2, 3), ones(3)])


NONE = '{ y = Einsum <equation = "ij,jk->ik"> (x, w) }'
OLD = {
    "sizes of the run": (f"g (float[A, B] x, float[B, C] w) => (float y) {NONE}", "OW612"),
    "a size that is declared": (f"g (float[2, 0] x, float[0, 2] w) => (float y) {NONE}", "OW622"),
    "any rank": (f"g (float x, float w) => (float y) {NONE}", "OW612"),
}


@each("what", OLD)
def test_no_elements_in_an_old_runtime(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, code = OLD[what]
    monkeypatch.setattr(sessions, "is_old", lambda: True)
    proto = model(text, *("xw" if what == "any rank" else ""))
    with pytest.raises(EagerError, match=f"{code}.*input 0.*has no elements, which ONNX Runtime"):
        ow.CompiledModel(proto)(ones(2, 0), ones(0, 2))


def test_calls_in_an_old_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "is_old", lambda: True)
    with ow.evaluator(ow.OrtEvaluator()):
        assert op.Einsum(ones(2, 3), ones(3, 2), equation="ij,jk->ik").shape == (2, 2)
        for operands in ((ones(2, 0), ones(0, 2)), (ones(2, 3), ones(3, 0))):
            with pytest.raises(EagerError, match="OW612.*has no elements"):
                op.Einsum(*operands, equation="ij,jk->ik")
        attention = ow.Opset("com.microsoft", 1).Attention
        with pytest.raises(EagerError, match="OW612.*its input 2 is left out"):
            attention(ones(2, 3, 8), ones(8, 24), num_heads=2)
        assert attention(ones(2, 3, 8), ones(8, 24), ones(24), num_heads=2).shape == (2, 3, 8)


@each("what", KNOWN)
def test_known_ranks_change_nothing(what: str) -> None:
    assert with_rank_guards(KNOWN[what]) is KNOWN[what]
