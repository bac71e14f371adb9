# ruff: noqa: PT017 - which error it is depends on what is known of the rank
"""Subscripts that went wrong elsewhere: numpy's meaning in every mode."""

from __future__ import annotations

import numpy as np

from onnxwright import FLOAT, script
from onnxwright import opset18 as op
from onnxwright.errors import ScriptTypeError
from tests.footguns.agreement import agrees, from_text, refuses
from tests.harness.tables import each

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
M = A[0]
V = A[0, 0]


def subscript(text: str, annotation: str, **values):
    """A script that reads `x[...]`, with further parameters."""
    extra = "".join(
        f", {name}: {'BOOL' if v.dtype == bool else 'INT32' if v.dtype == np.int32 else 'INT64'}"
        for name, v in values.items()
    )
    return from_text(f"@script()\ndef f(x: {annotation}{extra}):\n    return {text}\n")


def told_or_agree(agree, made, *inputs, expected) -> None:
    """Where the rank is not known, a few indices cannot be built; a located error says so."""
    try:
        agree(made, *inputs, expected=expected)
    except ScriptTypeError as error:
        if error.diagnostic.code != "OW414":
            raise
        assert made.signature.params[0].spec.types[0].shape is None, error


STATIC = [
    "x[0]", "x[-1]", "x[0, -1]", "x[-1, 0]", "x[1:, -1]", "x[0:2, -1]", "x[:, :]", "x[...]",
    "x[..., None]", "x[None]", "x[:, None]", "x[None, ..., None]", "x[..., -1]", "x[..., 1:]",
    "x[::-1]", "x[:, ::-1]", "x[::-2, 1::2]", "x[-2:]", "x[:-1]", "x[:-1, 1:-1]", "x[5:]",
    "x[2:1]",
    "x[-100:100]", "x[100:-100:-1]", "x[1::-1]", "x[:0:-1]", "x[0, None]", "x[None, 0]",
    "x[0, ...]", "x[..., 0, None]", "x[[0, 1]]", "x[[0, -1], 1]", "x[[0, 1], [1, 2]]",
    "x[:, [0, 2]]",
    "x[[True, False, True]]", "x[()]", "x[0][1]",
    "x[-1][::-1]", "x[1, 2:1]", "x[None, None]", "x[0, 1:3]",
    "x[[[0, 1], [1, 0]]]", "x[[[0], [1]], [[0, 1]]]", "x[:, -1:]", "x[1:2, 0]", "x[0:1, 0:1]",
]  # fmt: skip


@each("annotation", ["FLOAT[3, 4]", "FLOAT['N', 'M']", "FLOAT[...]", "FLOAT"])
@each("text", STATIC)
def test_static_subscripts(agree, text: str, annotation: str) -> None:
    expected = eval(text, {"x": M})
    told_or_agree(agree, subscript(text, annotation), M, expected=expected)


THREE = [
    "x[0, ..., -1]", "x[..., 0]", "x[:, 0]", "x[:, :, 0]", "x[:, -1, ::-1]", "x[1, :, 2]",
    "x[0, 1, 2]", "x[-1, -1, -1]", "x[None, 0, :, None]", "x[[0, 1], [0, 2]]", "x[0, [0, 2]]",
    "x[:, [0, 2], 1]", "x[[0, 1], :, [1, 3]]", "x[0, :, [1, 3]]", "x[[1], ..., [2]]",
    "x[:, [0, 2], [1, 3]]", "x[[0, 1], 1:, 2]", "x[..., [0], [1]]", "x[[0, 1], None, [0, 1]]",
    "x[1:, [0, 1], -1]", "x[:, None, 0]", "x[0:1, 1:2, 2:3]", "x[[[0, 1]], :, 1]",
]  # fmt: skip


@each("annotation", ["FLOAT[2, 3, 4]", "FLOAT[...]"])
@each("text", THREE)
def test_subscripts_of_three_axes(agree, text: str, annotation: str) -> None:
    told_or_agree(agree, subscript(text, annotation), A, expected=eval(text, {"x": A}))


DYNAMIC = [
    ("x[i]", {"i": 1}), ("x[i]", {"i": -1}), ("x[i, j]", {"i": 1, "j": -2}),
    ("x[i:]", {"i": 1}), ("x[:i]", {"i": -1}), ("x[i:j]", {"i": 0, "j": 2}),
    ("x[::i]", {"i": 2}), ("x[::i]", {"i": -1}), ("x[i::j]", {"i": 2, "j": -1}),
    ("x[:i:j]", {"i": 0, "j": -2}), ("x[i:j, -1]", {"i": 1, "j": 3}), ("x[:, i]", {"i": -1}),
    ("x[i, ::j]", {"i": 0, "j": -1}), ("x[i][j]", {"i": -1, "j": 0}), ("x[i + 1]", {"i": 0}),
    ("x[-i]", {"i": 1}), ("x[i:i + 2]", {"i": 1}), ("x[i, None]", {"i": 1}),
    ("x[i]", {"i": [0, 2]}), ("x[i]", {"i": [-1, 0, 1]}), ("x[i, j]", {"i": [0, 1], "j": [2, 3]}),
    ("x[i, j]", {"i": [0, 1], "j": 2}), ("x[i, j]", {"i": 1, "j": [0, -1]}),
    ("x[:, i]", {"i": [3, 0]}), ("x[i, :2]", {"i": [1, 0]}), ("x[i, 0]", {"i": [1, 0]}),
    ("x[i]", {"i": [[0, 1], [2, 0]]}), ("x[i, j]", {"i": [[0], [1]], "j": [0, 1, 2]}),
    ("x[i, 1:]", {"i": [[0, 1]]}), ("x[..., i]", {"i": [0, 0]}), ("x[i[0]]", {"i": [2, 1]}),
    ("x[i, -1]", {"i": [True, False, True]}), ("x[i]", {"i": [True, False, True]}),
    ("x[i]", {"i": [False, False, False]}), ("x[:, i]", {"i": [True, False, True, True]}),
    ("x[i, j]", {"i": [True, False, True], "j": [0, 1]}),
    ("x[i]", {"i": np.ones((3, 4), bool)}), ("x[x > 3]", {}), ("x[x[:, 0] > 3]", {}),
    ("x[x[:, 0] > 3, 1]", {}), ("x[i][None]", {"i": 0}), ("x[None, i]", {"i": 2}),
    ("x[i:, j:]", {"i": 1, "j": -2}), ("x[i: , None, 0]", {"i": 1}),
]  # fmt: skip


@each("annotation", ["FLOAT[3, 4]", "FLOAT['N', 'M']", "FLOAT"])
@each("dtype", [np.int64, np.int32])
@each(("text", "values"), DYNAMIC)
def test_dynamic_subscripts(agree, text: str, values, dtype, annotation: str) -> None:
    """Tensors as positions, bounds and steps; INT32 as good as INT64."""
    arrays = {
        name: np.array(v) if np.array(v).dtype == bool else np.array(v, dtype)
        for name, v in values.items()
    }
    expected = eval(text, {"x": M, **arrays})
    made = subscript(text, annotation, **arrays)
    told_or_agree(agree, made, M, *arrays.values(), expected=expected)


def test_a_scalar_tensor_with_shape_one_is_an_index_array(agree) -> None:
    """`x[[0]]` keeps the axis, `x[0]` does not."""
    script_ = subscript("x[i]", "FLOAT[3, 4]", i=np.array([1]))
    agree(script_, M, np.array([1]), expected=M[[1]])


@refuses()
def test_a_step_of_zero(x: FLOAT[3]):
    return x[::0]


@refuses()
def test_two_ellipses(x: FLOAT[...]):
    return x[..., 0, ...]


@agrees(M, expected=(M * 3, M * 4, np.array(3), M[:2, 3], M.T))
def test_subscripts_of_shapes_and_lengths(x: FLOAT["N", "M"]):
    n, m = x.shape
    return x * n, x * x.shape[-1], op.Identity(len(x)), x[: n - 1, m - 1], x.T


@agrees(M, expected=(M * 3, M * 3, M[2]))
def test_subscripts_of_unknown_shapes(x: FLOAT):
    return x * x.shape[0], len(x) * x, x[x.shape[0] - 1]


@agrees(M, expected=(M[1], M[1], M + 1))
def test_a_slice_object_and_lists_of_tensors(x: FLOAT["N", "M"]):
    rows = [x[0], x[1]]
    return rows[-1], rows[::-1][0], (x, x + 1)[1]


@agrees(M, expected=(M + 1, M))
def test_a_dict_of_tensors(x: FLOAT["N", "M"]):
    held = {"a": x, "b": x + 1}
    return held["b"], held["a"]


@refuses("OW412")
def test_scalars_are_not_subscripted(x: FLOAT[()]):
    return x[0]


def test_zero_dimensional_subscripts(agree) -> None:
    @script()
    def f(x: FLOAT[()]):
        return x[None], x[...], x[()], x[None, None]

    s = np.array(3, np.float32)
    agree(f, s, expected=(s[None], s, s, s[None, None]))
