"""Elementwise functions where no OpInfo goes: overloads, edges, sizes only the run knows."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.atenlib.one_op import check, outcomes
from tests.harness.tables import each

aten, prims = torch.ops.aten, torch.ops.prims
INF, NAN = math.inf, math.nan
X = torch.tensor([[0.5, -1.5, 2.0], [-0.25, 3.0, -4.0]])
Y = torch.tensor([[1.5, 0.5, -2.0], [0.75, -3.0, 8.0]])
EDGES = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 1e-30, -1e30])
Z = torch.complex(X, Y)
WHOLE = torch.tensor([[3, -7, 0], [5, 1, -2]])

PRIMS = {
    "abs": (X,), "neg": (X,), "sign": (X,), "ceil": (X,), "floor": (X,), "round": (X,),
    "trunc": (X,), "reciprocal": (X,), "sqrt": (Y,), "rsqrt": (Y,), "exp": (X,), "exp2": (X,),
    "expm1": (X,), "log": (Y,), "log2": (Y,), "log10": (Y,), "log1p": (Y,), "sin": (X,),
    "cos": (X,), "tan": (X,), "asin": (X / 8,), "acos": (X / 8,), "atan": (X,), "sinh": (X,),
    "cosh": (X,), "tanh": (X,), "asinh": (X,), "acosh": (Y.abs() + 1,), "atanh": (X / 8,),
    "isfinite": (EDGES,), "erf": (X,), "erfc": (X,), "erfcx": (X,), "erf_inv": (X / 8,),
    "lgamma": (X,), "digamma": (X,), "ndtri": (Y.abs() / 10,), "bessel_i0": (X,),
    "bessel_i0e": (X,), "bessel_i1": (X,), "bessel_i1e": (X,), "bessel_j0": (X,),
    "bessel_j1": (X,), "bitwise_not": (WHOLE,), "add": (X, Y), "sub": (X, Y), "mul": (X, Y),
    "div": (X, Y), "remainder": (X, Y), "fmod": (X, Y), "pow": (Y.abs(), X), "atan2": (X, Y),
    "hypot": (X, Y), "nextafter": (X, Y), "maximum": (X, Y), "minimum": (X, Y), "eq": (X, Y),
    "ne": (X, Y), "lt": (X, Y), "le": (X, Y), "gt": (X, Y), "ge": (X, Y),
    "gcd": (WHOLE, WHOLE.flip(0)), "bitwise_and": (WHOLE, WHOLE.flip(0)),
    "bitwise_or": (WHOLE, WHOLE.flip(0)), "bitwise_xor": (WHOLE, WHOLE.flip(0)),
    "shift_left": (WHOLE, WHOLE.abs()), "shift_right_arithmetic": (WHOLE, WHOLE.abs()),
    "zeta": (Y.abs() + 1.5, Y.abs()), "where": (X > 0, X, Y), "clone": (X,), "view_of": (X,),
    "real": (Z,), "imag": (Z,), "conj_physical": (Z,),
}  # fmt: skip


@each("name", PRIMS)
def test_prims(name: str) -> None:
    """Torch's primitive operators, in every mode."""
    check(getattr(prims, name).default, *PRIMS[name], dynamic=(0, 1))


# Not here: torch's sign of NaN is 0 (ONNX's Sign keeps NaN), its gelu of infinity is NaN.
UNARY = (
    "abs", "neg", "signbit", "ceil", "floor", "round", "trunc", "frac",
    "reciprocal", "square", "sqrt", "rsqrt", "nan_to_num", "isnan", "isinf", "isfinite",
    "isposinf", "isneginf", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sigmoid",
    "tanh", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "relu", "relu6",
    "elu", "selu", "celu", "softplus", "hardtanh", "hardsigmoid", "hardshrink",
    "softshrink", "leaky_relu", "log_sigmoid", "erf", "erfc", "erfinv", "lgamma", "angle",
    "deg2rad", "logical_not", "special_i0e", "special_i1e", "special_ndtr",
    "special_ndtri", "special_log_ndtr", "special_entr",
)  # fmt: skip


@each("dtype", [torch.float32, torch.float64])
@each("name", UNARY)
def test_edges_of_functions(name: str, dtype: Any) -> None:
    """NaN, infinities, zeros of both signs, and numbers near the ends of the range."""
    check(getattr(aten, name).default, EDGES.to(dtype))


BINARY = (
    "add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "maximum", "minimum", "fmax", "fmin",
    "eq.Tensor", "ne.Tensor", "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor", "atan2",
    "copysign.Tensor", "xlogy.Tensor", "logaddexp", "heaviside", "fmod.Tensor", "isclose",
    "nextafter", "hypot", "special_xlog1py",
)  # fmt: skip


def operator_of(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(aten, base), overload or "default")


@each("name", BINARY)
def test_edges_of_pairs(name: str) -> None:
    """Every edge with every other."""
    a, b = torch.meshgrid(EDGES, EDGES, indexing="ij")
    if name in ("hypot", "nextafter", "copysign.Tensor"):  # with a NaN and an infinity C differs
        a, b = a[1:, 1:], b[1:, 1:]
    check(operator_of(name), a, b, dynamic=(0, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_quotients_rounded_down_are_pythons(dtype: Any) -> None:
    """`1 // 0.1` is 9 though `1 / 0.1` is 10; infinite and zero divisors."""
    a = torch.tensor([1.0, -1.0, 6.0, -7.0, 5.0, INF, 1.0, 0.0], dtype=dtype)
    b = torch.tensor([0.1, 0.1, -3.0, 2.0, INF, 2.0, 0.0, 3.0], dtype=dtype)
    for name in ("floor_divide", "remainder.Tensor", "fmod.Tensor"):
        check(operator_of(name), a, b, dynamic=(0, 1))
    check(aten.div.Tensor_mode, a, b, rounding_mode="floor")
    check(aten.div.Tensor_mode, a, b, rounding_mode="trunc")
    check(aten.div.Tensor_mode, a, b, rounding_mode=None)


SCALARS: list[tuple[Any, ...]] = [
    (aten.add.Scalar, X, 2, 3), (aten.add.Scalar, WHOLE, 0.5), (aten.sub.Scalar, X, 2.5, 2),
    (aten.rsub.Scalar, X, 2, 0.5), (aten.mul.Scalar, WHOLE, 2.5), (aten.div.Scalar, WHOLE, 2),
    (aten.div.Scalar_mode, WHOLE, 2), (aten.remainder.Scalar, X, -1.5),
    (aten.remainder.Scalar_Tensor, 7, Y), (aten.fmod.Scalar, X, 1.5),
    (aten.pow.Scalar, 2.5, X), (aten.pow.Scalar, 2, WHOLE.abs()),
    (aten.float_power.Tensor_Scalar, X, 2), (aten.float_power.Scalar, 2, X),
    (aten.eq.Scalar, X, 2.0), (aten.lt.Scalar, WHOLE, 0.5), (aten.clamp_min.default, WHOLE, 0.5),
    (aten.clamp_max.default, X, 1), (aten.where.ScalarOther, X > 0, X, 0.5),
    (aten.where.ScalarSelf, X > 0, 1, Y), (aten.where.Scalar, X > 0, 1.0, 2.0),
    (aten.where.Scalar, X > 0, 1, 2), (aten.where.Scalar, X > 0, True, False),
    (aten.bitwise_and.Scalar, WHOLE, 6), (aten.bitwise_or.Scalar_Tensor, 6, WHOLE),
    (aten.bitwise_left_shift.Tensor_Scalar, WHOLE, 3), (aten.__rshift__.Scalar, WHOLE, 1),
    (aten.bitwise_left_shift.Scalar_Tensor, 3, WHOLE.abs()), (aten.xlogy.Scalar_Self, 2.0, Y),
    (aten.xlogy.Scalar_Other, X, 2.0), (aten.copysign.Scalar, X, -0.0),
    (aten.lerp.Scalar, X, Y, 0.75), (aten.threshold.default, X, 0.1, 20),
    (aten.special_zeta.self_scalar, 2.5, Y.abs()), (aten.special_zeta.other_scalar, Y.abs() + 2, 3),
    (aten.special_legendre_polynomial_p.n_scalar, X / 4, 3),
    (aten.special_hermite_polynomial_h.x_scalar, 0.5, WHOLE.abs()),
]  # fmt: skip


@each("case", SCALARS)
def test_overloads_with_numbers(case: tuple[Any, ...]) -> None:
    target, *args = case
    named = {"rounding_mode": "floor"} if target is aten.div.Scalar_mode else {}
    check(target, *args, **named)


POWERS = [0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 1.5]


@pytest.mark.parametrize("exponent", POWERS)
def test_powers_with_a_number(exponent: float) -> None:
    """Short forms and Pow give the same."""
    check(aten.pow.Tensor_Scalar, Y, exponent)
    check(aten.pow.Tensor_Scalar, EDGES, exponent)
    check(aten.pow.Tensor_Scalar, Z, exponent, tol=(1e-4, 1e-5))
    if isinstance(exponent, int) and exponent >= 0:
        check(aten.pow.Tensor_Scalar, WHOLE.to(torch.int8), exponent)


CONVERTED: list[tuple[Any, ...]] = [
    (aten._to_copy, WHOLE, {"dtype": torch.float16}), (aten._to_copy, X, {}),
    (aten._to_copy, X, {"dtype": torch.int32}), (aten._to_copy, X, {"dtype": torch.complex64}),
    (aten._to_copy, Z, {"dtype": torch.complex128}), (aten._to_copy, X, {"dtype": torch.bool}),
    (aten.to.dtype_layout, X, {"dtype": torch.float64}), (aten.to.other, X, WHOLE),
    (aten.to.dtype, X, torch.uint8), (aten.type_as, WHOLE, X), (aten.contiguous, X),
    (aten.copy, X, WHOLE[0]), (aten.copy, X, Y), (aten.detach, X), (aten.clone, Z),
    (prims.convert_element_type, X, torch.int64), (prims.device_put, X, torch.device("cpu")),
]  # fmt: skip


@each("case", CONVERTED)
def test_conversions(case: tuple[Any, ...]) -> None:
    target, *args = case
    named = args.pop() if isinstance(args[-1], dict) else {}
    target = target if isinstance(target, torch._ops.OpOverload) else target.default
    check(target, *args, dynamic=(0, 1), **named)


def test_tensors_of_numbers() -> None:
    for target, number in (
        (aten.tensor.float, 2.5),
        (aten.tensor.int, 3),
        (aten.tensor.bool, True),
    ):
        check(target, number, dynamic=())
        check(target, number, dynamic=(), dtype=torch.float64)


def test_kernels_of_activations() -> None:
    """What torch makes of prelu and log_sigmoid."""
    check(aten._prelu_kernel.default, X, torch.tensor([[0.1, 0.2, 0.3]]))
    check(aten.log_sigmoid_forward.default, X)
    check(aten.gelu.default, X.double(), approximate="tanh")
    check(aten.gelu.default, X, opset=18)
    check(aten.elu.default, X, 2.0, 1.5, 0.5)
    check(aten.softplus.default, X, 2.0, 1.0)
    check(aten.celu.default, X, 1.5)


@each(
    ("a", "b"),
    [(X, X), (X, Y), (X, X + 1e-7), (X, X[:1]), (WHOLE, WHOLE), (Z, Z), (Z, Z + 1), (X[:0], X[:0])],
)
def test_tensors_are_compared_whole(a: Any, b: Any) -> None:
    """`equal` and `allclose` give one bool."""
    for target in (aten.equal.default, aten.allclose.default):
        if target is aten.equal.default or a.shape == b.shape:
            (theirs,), modes = outcomes(target, a, b, dynamic=())
            for ours in modes.values():
                assert [bool(x) for x in ours] == [theirs], target


def test_equal_asks_the_run_for_the_shapes() -> None:
    for b in (X, X[:1], X[:, :2]):
        (theirs,), modes = outcomes(aten.equal.default, X, b, dynamic=(0, 1))
        assert [bool(x) for x in modes["dynamic"]] == [theirs]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_neighbours(dtype: Any) -> None:
    """nextafter next to powers of two, zero, subnormal numbers and the ends."""
    end = torch.finfo(dtype)
    x = torch.tensor([1.0, 2.0, 0.0, end.tiny, end.smallest_normal / 2, 3.14159, 1e-3], dtype=dtype)
    for other in (INF, -INF, 0.0):
        check(aten.nextafter.default, x, torch.full_like(x, other), tol=(0.0, 0.0))
        check(aten.nextafter.default, -x, torch.full_like(x, other), tol=(0.0, 0.0))


def test_fractions_and_exponents() -> None:
    x = torch.tensor([1.0, 0.75, -8.0, 0.0, 1e-40, 3.4e38, 1 - 2**-24, INF])
    (mantissa, exponent), modes = outcomes(aten.frexp.Tensor, x)
    for mode, (m, e) in modes.items():
        torch.testing.assert_close(m, mantissa, rtol=0, atol=0, msg=mode)
        torch.testing.assert_close(e, exponent, rtol=0, atol=0, msg=mode)


COMPLEX = (
    "abs", "angle", "sgn", "exp", "expm1", "log", "log1p", "sqrt", "reciprocal", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid",
)  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_functions_on_both_sides_of_the_cuts(name: str) -> None:
    """Quadrants, points on the axes away from the poles, in the wider type."""
    grid = torch.tensor([-2.5, -0.5, 0.75, 3.0], dtype=torch.float64)
    real, imag = torch.meshgrid(grid, grid, indexing="ij")
    check(getattr(aten, name).default, torch.complex(real, imag), tol=(1e-12, 1e-12))


def test_complex_numbers_of_any_size() -> None:
    """No square overflows on the way."""
    big = torch.tensor([3e30 + 4e30j, 3e-30 + 4e-30j, 0j], dtype=torch.complex64)
    for name in ("abs", "sgn", "sqrt", "reciprocal", "log"):
        check(getattr(aten, name).default, big[:2])
    check(aten.abs.default, big)
    check(aten.div.Tensor, big[:2], big[:2].flip(0).conj_physical() * 1e20)
    check(aten.tanh.default, torch.tensor([200 + 1j, -200 - 1j], dtype=torch.complex64))
