"""Arithmetic where ONNX and numpy part: numpy's meaning, or a located warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from onnxwright import BOOL, DOUBLE, FLOAT, FLOAT16, INT32, INT64, UINT8, script  # noqa: F401
from onnxwright import opset18 as op
from onnxwright.errors import OnnxwrightWarning, ScriptTypeError
from tests.footguns.agreement import from_text
from tests.harness.tables import each

NAMES = {
    np.dtype(np.float32): "FLOAT", np.dtype(np.float64): "DOUBLE", np.dtype(np.float16): "FLOAT16",
    np.dtype(np.int32): "INT32", np.dtype(np.int64): "INT64", np.dtype(np.uint8): "UINT8",
    np.dtype(bool): "BOOL", np.dtype(np.int8): "INT8",
}  # fmt: skip


def expression(text: str, **values):
    """A script that returns an expression of its parameters."""
    head = ", ".join(f"{name}: {NAMES[v.dtype]}['N']" for name, v in values.items())
    return from_text(f"@script()\ndef f({head}):\n    return {text}\n")


I = np.array([-7, -6, -1, 1, 6, 7])  # noqa: E741
J = np.array([3, -3, 2, -2, 4, -5])
F = np.array([-7.5, -6.0, -0.25, 0.25, 6.0, 7.75], np.float32)
G = np.array([2.0, -2.5, 0.5, -0.5, 4.0, -3.0], np.float32)


@each("dtype", [np.int64, np.int32, np.int8])
@each(
    "text",
    [
        "x // y",
        "x % y",
        "x // 3",
        "x % 3",
        "x // -3",
        "x % -3",
        "7 // x",
        "-7 % x",
        "x - y",
        "-x",
        "+x",
        "abs(x)",
        "x * -2",
        "x & y",
        "x | y",
        "x ^ y",
        "~x",
        "x ** 2",
        "x << 2",
        "x >> 1",
    ],
)
def test_integers(agree, text: str, dtype) -> None:
    """Floor division and modulo of negative numbers are Python's."""
    x, y = I.astype(dtype), J.astype(dtype)
    names = {"x": x, "y": y} if "y" in text else {"x": x}
    agree(expression(text, **names), *names.values(), expected=eval(text, {}, dict(names)))


@each("dtype", [np.float32, np.float64])
@each(
    "text",
    [
        "x // y",
        "x % y",
        "x // 2",
        "x % 2",
        "x // -2.5",
        "x % -2.5",
        "7 // x",
        "-7 % x",
        "x / y",
        "1 / x",
        "x / 3",
        "x ** 2",
        "abs(y) ** x",
        "2 ** x",
        "x - 1",
        "1 - x",
        "x * 2",
        "-x",
    ],
)
def test_floats(agree, text: str, dtype) -> None:
    x, y = F.astype(dtype), G.astype(dtype)
    names = {"x": x, "y": y} if "y" in text else {"x": x}
    agree(expression(text, **names), *names.values(), expected=eval(text, {"abs": abs}, names))


@each("text", ["x % y", "x // y", "x - y", "x + y", "x * y"])
def test_unsigned(agree, text: str) -> None:
    x = np.array([1, 200, 255, 7], np.uint8)
    y = np.array([3, 100, 2, 7], np.uint8)
    agree(expression(text, x=x, y=y), x, y, expected=eval(text))


@each("sign", ["<", "<=", ">", ">=", "==", "!="])
@each("dtype", [np.int64, np.float32, np.float64, np.uint8, np.int32])
def test_comparisons(agree, sign: str, dtype) -> None:
    x, y = np.array([1, 2, 3], dtype), np.array([3, 2, 1], dtype)
    agree(expression(f"x {sign} y", x=x, y=y), x, y, expected=eval(f"x {sign} y"))
    agree(expression(f"2 {sign} x", x=x), x, expected=eval(f"2 {sign} x"))


@each("sign", ["==", "!=", "&", "|", "^"])
def test_bools(agree, sign: str) -> None:
    x, y = np.array([True, False, True, False]), np.array([True, True, False, False])
    agree(expression(f"x {sign} y", x=x, y=y), x, y, expected=eval(f"x {sign} y"))
    agree(expression("~x", x=x), x, expected=~x)


GENERIC = "@script()\ndef g(x):\n    return {}\n\n@script()\ndef f(x: {}['N']):\n    return g(x)\n"


@each("dtype", [np.float32, np.float64, np.int64, np.int32, np.uint8])
@each(
    "text", ["x < 1.5", "x == 0.5", "-x", "x ** 2", "x // 2", "abs(x) % 3", "x.mean()", "x.sum()"]
)
def test_a_function_of_unknown_type_means_what_its_body_means(agree, text: str, dtype) -> None:
    """Lowered once for all calls, it had a reading of its own: `x < 1.5` was `x < 1`."""
    x = np.array([0, 1, 2, 5], dtype)
    agree(from_text(GENERIC.format(text, NAMES[x.dtype])), x, expected=eval(text))


def test_a_function_whose_loop_adds_its_index_stays_one() -> None:
    """The index is converted to the type of `x`, which it has already where that is INT64."""
    g = "@script()\ndef g(x):\n    for i in range(3):\n        x = x + i\n    return x\n\n"
    for name in ("INT64", "FLOAT"):
        f = from_text(g + f"@script()\ndef f(x: {name}['N']):\n    return g(x)\n")
        assert [g.name for g in f.to_model_proto().functions] == ["g"]


@each("dtype, functions", [(np.float32, ["g"]), (np.int64, [])])
def test_a_function_of_unknown_type_stays_one_where_it_means_the_same(dtype, functions) -> None:
    f = from_text(GENERIC.format("x < 1.5", NAMES[np.dtype(dtype)]))
    assert [g.name for g in f.to_model_proto().functions] == functions
    if not functions:
        with pytest.raises(ScriptTypeError, match=r"OW408.*`g`(?s:.*)return g\(x\)"):
            f.to_model_proto(functions="all")


@each("body", ["x * k", "x if k > 0.1 else -x"])
def test_an_attribute_that_is_rounded_is_not_read_as_double(agree, body: str) -> None:
    """An attribute of a function is a FLOAT: of 0.1 it made 0.10000000149."""
    f = from_text(
        f"@script()\ndef g(x, k: float = 0.1):\n    return {body}\n\n"
        "@script()\ndef f(x: DOUBLE['N']):\n    return g(x, k=0.1)\n"
    )
    x = np.array([1.0, 200.0])
    agree(f, x, expected=eval(body, {"x": x, "k": 0.1}))


def test_integer_division_warns(agree) -> None:
    """numpy gives float64 here; ONNX truncates; both modes agree and say so."""
    f = expression("x / y", x=I, y=J)
    with pytest.warns(OnnxwrightWarning, match=r"OW406"):
        agree(f, I, J, expected=np.trunc(I / J).astype(np.int64))


def test_an_integer_tensor_and_a_fraction_warn(agree) -> None:
    f = expression("x + 1.5", x=I)
    with pytest.warns(OnnxwrightWarning, match=r"OW405"):
        agree(f, I, expected=I + 1)


@each(
    "text",
    ["x < 2", "x == 2", "x != 0.5", "-1 <= x", "x == [1, 2, 3]", "x < float('inf')", "x <= 1"],
)
def test_truth_values_are_compared_as_numbers(agree, text: str) -> None:
    """2 is not the truth value True: `x < 2` was `x < True`."""
    x = np.array([True, False, True])
    agree(expression(text, x=x), x, expected=eval(text))


def test_truth_values_beside_a_number_of_the_run(agree) -> None:
    f = from_text(
        "@script()\ndef f(x: BOOL['N'], n: INT64[()]):\n    for i in range(n):\n"
        "        x[i] = x[0] < i\n        x[1] = i\n    return x\n"
    )
    agree(f, np.array([True, False, True]), np.int64(3), expected=np.array([False, True, True]))


@each("text", ["x & 3", "op.Or(x, 2)", "x | 0.5"])
def test_a_number_that_is_not_a_truth_value_is_refused(refused, text: str) -> None:
    refused(expression(text, x=np.array([True])), "OW404", "does not fit in BOOL")


def test_an_integer_tensor_and_a_whole_float_do_not_warn(agree) -> None:
    """Nothing is lost, but the dtype is numpy's no more: int64 stays."""
    f = expression("x * 2.0", x=I)
    agree(f, I, expected=I * 2)


def test_a_negative_power_of_integers_warns() -> None:
    f = expression("x ** -1", x=np.array([1, 2, 4]))
    with pytest.warns(OnnxwrightWarning, match=r"OW407"):
        f.to_model_proto()


def test_warnings_name_the_line(recwarn) -> None:
    f = expression("x / y", x=I, y=J)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        f.to_model_proto()
    texts = [str(w.message) for w in seen if isinstance(w.message, OnnxwrightWarning)]
    assert len(texts) == 1
    assert "return x / y" in texts[0]
    assert "-->" in texts[0]


def test_floor_division_of_floats_is_numpys_not_a_rounded_quotient(agree) -> None:
    """1 // 0.1 is 9: the quotient 10.0 is rounded up before floor sees it."""
    x, y = np.array([1.0, 0.3, -1.0]), np.array([0.1, 0.1, 0.1])
    agree(expression("x // y", x=x, y=y), x, y, expected=x // y)
    agree(expression("x % y", x=x, y=y), x, y, expected=x % y)


def test_floor_division_and_modulo_by_zero_of_floats(agree) -> None:
    x = np.array([1.0, -1.0, 0.0], np.float32)
    y = np.zeros(3, np.float32)
    with np.errstate(all="ignore"):
        agree(expression("x / y", x=x, y=y), x, y, expected=x / y)
        agree(expression("x % y", x=x, y=y), x, y, expected=x % y)


def test_modulo_with_infinity(agree) -> None:
    x = np.array([5.0, -5.0], np.float32)
    y = np.array([np.inf, np.inf], np.float32)
    agree(expression("x % y", x=x, y=y), x, y, expected=x % y)


def test_chained_comparison_of_scalars(agree) -> None:
    @script()
    def f(x: FLOAT, low: FLOAT, high: FLOAT) -> FLOAT:
        if low < x <= high != 0:
            return x
        return -x

    one, two, three = (np.array(v, np.float32) for v in (1, 2, 3))
    agree(f, two, one, three, expected=two)
    agree(f, three, one, two, expected=-three)


def test_constants_are_folded_as_python_numbers(agree) -> None:
    """`1 / 3` is a Python float first; rounding to float32 comes last."""

    @script()
    def f(x: DOUBLE["N"], n: INT64["N"]):
        k = 7 // 2 * 2 - 10 % 3
        return x * (1 / 3), n * k, n + 2**40, x + 1e-12

    x, n = np.array([1.0, 2.0]), np.array([1, 2])
    agree(f, x, n, expected=(x * (1 / 3), n * 5, n + 2**40, x + 1e-12))


def test_numbers_keep_the_dtype_of_the_tensor(agree) -> None:
    for dtype in (np.float16, np.float32, np.float64, np.int32, np.uint8):
        x = np.array([1, 2, 3], dtype)
        agree(expression("x * 2 + 1", x=x), x, expected=x * 2 + 1)
        agree(expression("2 * x - 1", x=x), x, expected=2 * x - 1)


def test_lists_beside_tensors(agree) -> None:
    x = np.array([1, 2, 3], np.float32)
    agree(expression("x * [1, 2, 3]", x=x), x, expected=x * np.array([1, 2, 3], np.float32))
    agree(expression("op.Add(x, [1, 2, 3])", x=x), x, expected=x + np.array([1, 2, 3], np.float32))
    agree(expression("op.Max(x, 2)", x=x), x, expected=np.maximum(x, 2))
    agree(expression("op.Where(x > 2, x, 0)", x=x), x, expected=np.where(x > 2, x, 0))
    agree(expression("op.Where(x > 2, 1.0, x)", x=x), x, expected=np.where(x > 2, np.float32(1), x))


def test_min_max_sum_pow_round(agree) -> None:
    @script()
    def f(x: FLOAT["N"], a: FLOAT, b: FLOAT):
        return max(a, b), min(a, b, 0.5), sum(x), pow(x, 2), max(a, 1), abs(a - b)

    x = np.array([1, 2, 3], np.float32)
    a, b = np.array(2, np.float32), np.array(5, np.float32)
    agree(f, x, a, b, expected=(b, np.float32(0.5), x.sum(), x**2, a, np.float32(3)))


def test_int_float_bool_of_a_scalar(agree) -> None:
    @script()
    def f(x: FLOAT["N"], a: FLOAT):
        return x[int(a)], x * float(a), x * int(a), x * int(-a)

    x = np.array([1, 2, 3], np.float32)
    agree(f, x, np.array(1.75, np.float32), expected=(x[1], x * np.float32(1.75), x, -x))


def test_round_halves_to_even(agree) -> None:
    @script()
    def f(x: FLOAT["N"]):
        return op.Round(x)

    x = np.array([0.5, 1.5, 2.5, -0.5], np.float32)
    agree(f, x, expected=np.round(x))


def test_matmul_of_every_rank(agree) -> None:
    @script()
    def f(m: FLOAT["N", "M"], v: FLOAT["M"], w: FLOAT["N"]):
        return m @ v, w @ m, v @ v, m @ m.T

    m = np.arange(6, dtype=np.float32).reshape(2, 3)
    v, w = m[0], np.array([1, 2], np.float32)
    agree(f, m, v, w, expected=(m @ v, w @ m, v @ v, m @ m.T))


def test_augmented_assignment_does_not_change_the_argument() -> None:
    @script()
    def f(x: FLOAT["N"]):
        y = x
        y += 1
        return y, x

    x = np.array([1, 2, 3], np.float32)
    y, same = f(x)
    np.testing.assert_array_equal(y, [2, 3, 4])
    np.testing.assert_array_equal(same, [1, 2, 3])
    np.testing.assert_array_equal(x, [1, 2, 3])
