"""Products of several tensors: Einstein sums, chains and powers of matrices, cross products."""

from __future__ import annotations

import functools
import itertools
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import cast, full, vector
from onnxwright.atenlib.helpers.sizes import product, size, sizes
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Arguments, Op, Value
from onnxwright.atenlib.rules import custom, elementwise, like
from onnxwright.types.dtypes import DType

_LAST = 2**63 - 1

_HALF = {"float16": Tol(4e-3, 8e-3), "bfloat16": Tol(3e-2, 3e-2), "complex64": Tol(1e-5, 6e-5)}


def _einsum_type(arguments: Arguments) -> DType:
    """Integers become INT64 where an axis of one tensor alone is summed: torch calls `sum`."""
    dtype: DType = arguments["tensors"][0].onnx_dtype
    if not dtype.is_integer:
        return dtype
    tensors = arguments["tensors"]
    equation, _ = _spelled_out(arguments["equation"].replace(" ", ""), tensors)
    left, _, right = equation.partition("->")
    terms = [set(term) for term in left.split(",")]
    alone = (c for c in set().union(*terms) if sum(c in term for term in terms) == 1)
    return DType.INT64 if any(c not in right for c in alone) else dtype


@aten(
    "aten::einsum", rule=custom(_einsum_type), tests=[OpTest("einsum", tol=_HALF)], complex="same"
)
def einsum(
    op: Op, equation: str, tensors: Sequence[Value], *, path: list[int] | None = None
) -> Any:
    """The Einstein sum of an equation; `path` only says in which order torch would multiply."""
    equation, tensors = _plain(op, equation.replace(" ", ""), tensors)
    if len(tensors) <= 2 or not isinstance(tensors[0], Complex):
        return _einsum(op, equation, tensors)
    # The product of n complex numbers is a sum over which of them give their imaginary parts.
    parts: tuple[list[Any], list[Any]] = ([], [])
    for choice in itertools.product((0, 1), repeat=len(tensors)):
        chosen = [t.imag if c else t.real for t, c in zip(tensors, choice, strict=True)]
        term = _einsum(op, equation, chosen)
        turns = sum(choice)
        parts[turns % 2].append(op.Neg(term) if turns % 4 in (2, 3) else term)
    return Complex(*(functools.reduce(op.Add, terms) for terms in parts))


def _spelled_out(equation: str, tensors: list[Any]) -> tuple[str, list[str]]:
    """An equation with letters for ellipses and with an output, and its terms."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    free = [c for c in string.ascii_letters if c not in equation]
    spans = [t.rank - len(s.replace("...", "")) for s, t in zip(terms, tensors, strict=True)]
    dots = free[: max((n for n, s in zip(spans, terms, strict=True) if "..." in s), default=0)]
    terms = [
        s.replace("...", "".join(dots[len(dots) - n :])) for n, s in zip(spans, terms, strict=True)
    ]
    if arrow:
        right = right.replace("...", "".join(dots))
    else:
        once = sorted(c for c in set(left) - {",", "."} if left.count(c) == 1)
        right = "".join([*dots, *once])
    return f"{','.join(terms)}->{right}", terms


def _plain(op: Op, equation: str, tensors: Any) -> tuple[str, list[Any]]:
    """An equation spelled out, without the axes of size one that torch repeats."""
    equation, terms = _spelled_out(equation, tensors)
    right = equation.partition("->")[2]
    planes: dict[str, list[Any]] = {}
    for term, t in zip(terms, tensors, strict=True):
        for letter, dim in zip(term, t.shape, strict=True):
            planes.setdefault(letter, []).append(dim)
    repeated = {c for c, dims in planes.items() if any(d != 1 for d in dims)}
    operands, kept = [], []
    for term, t in zip(terms, tensors, strict=True):
        drop = [n for n, c in enumerate(term) if t.shape[n] == 1 and c in repeated]
        operands.append(algebra.squeeze(op, t, drop) if drop else t)
        kept.append("".join(c for n, c in enumerate(term) if n not in drop))
    return f"{','.join(kept)}->{right}", operands


def _einsum(op: Op, equation: str, tensors: list[Any]) -> Any:
    if any(0 in t.shape for t in tensors):
        return _sum_of_nothing(op, equation, tensors)
    if len(tensors) > 2:
        tensors = [algebra.einsum_operand(op, t) for t in tensors]
        return op.Einsum(*tensors, equation=equation)
    return algebra.einsum(op, equation, *tensors)


def _sum_of_nothing(op: Op, equation: str, tensors: list[Any]) -> Any:
    """Zeros; ONNX Runtime's Einsum divides by the number of elements, which ends the process."""
    left, _, right = equation.partition("->")
    empty_operands: dict[str, Any] = {}
    for term, t in zip(left.split(","), tensors, strict=True):
        empty_operands.update(zip(term, sizes(op, real_part(t)), strict=True))
    shape = [empty_operands[c] for c in right]
    return algebra.each(lambda v: full(op, shape, 0, v.onnx_dtype), tensors[0])


@aten("aten::bilinear", rule=like("input1"), tests=[OpTest("nn.functional.bilinear", tol=_HALF)])
def bilinear(
    op: Op, input1: Value, input2: Value, weight: Value, bias: Value | None = None
) -> Value:
    """`input1 @ weight[k] @ input2` for every k, plus the bias."""
    out, left, right = sizes(op, weight)
    flat = op.Reshape(
        op.Transpose(weight, perm=[1, 0, 2]), vector(op, [left, product(op, [out, right])])
    )
    rows = op.MatMul(algebra.widen_small(op, input1), algebra.widen_small(op, flat))
    shape = vector(op, [*sizes(op, input1)[:-1], out, right])
    rows = op.Reshape(rows, shape)
    column = algebra.widen_small(op, op.Unsqueeze(input2, [-1]))
    result = op.Squeeze(op.MatMul(rows, column), [-1])
    return result if bias is None else op.Add(result, algebra.widen_small(op, bias))


@aten("aten::kron", rule=elementwise(("self", "other")), complex="same")
def kron(op: Op, self: Value, other: Value) -> Value:
    """The Kronecker product."""
    rank = max(self.rank, other.rank)
    if rank == 0:
        return _times(op, self, other)
    self = algebra.unsqueeze(op, self, range(rank - self.rank)) if self.rank < rank else self
    other = algebra.unsqueeze(op, other, range(rank - other.rank)) if other.rank < rank else other
    real = self.real if isinstance(self, Complex) else self
    real2 = other.real if isinstance(other, Complex) else other
    shape = [product(op, [n, m]) for n, m in zip(sizes(op, real), sizes(op, real2), strict=True)]
    wide = algebra.unsqueeze(op, self, range(1, 2 * rank, 2))
    wide2 = algebra.unsqueeze(op, other, range(0, 2 * rank, 2))
    return algebra.reshape(op, _times(op, wide, wide2), vector(op, shape))


def _times(op: Op, a: Value, b: Value) -> Value:
    return op.And(a, b) if a.onnx_dtype.is_bool else algebra.mul(op, a, b)


@aten(
    "aten::linalg_multi_dot",
    rule=like("tensors"),
    tests=[OpTest("linalg.multi_dot", tol=_HALF)],
    complex="same",
)
def linalg_multi_dot(op: Op, tensors: Sequence[Value]) -> Any:
    """The product of a chain of matrices, in the cheapest order where all sizes are known."""
    return _chain(op, tensors)


@aten(
    "aten::chain_matmul",
    rule=like("matrices"),
    untested="torch has no OpInfo for it",
    complex="same",
)
def chain_matmul(op: Op, matrices: Sequence[Value]) -> Any:
    """The product of a chain of matrices."""
    return _chain(op, matrices)


def _chain(op: Op, xs: Any) -> Any:
    rows = [x.shape[0] if x.rank == 2 else 1 for x in xs[:1]]
    ends = [*rows, *(x.shape[-1] if n or x.rank == 2 else x.shape[0] for n, x in enumerate(xs))]
    if xs[-1].rank == 1:
        ends[-1] = 1
    if not all(isinstance(n, int) for n in ends):
        return functools.reduce(functools.partial(algebra.matmul, op), xs)
    split = _cheapest(ends)

    def build(i: int, j: int) -> Any:
        if i == j:
            return xs[i]
        k = split[i, j]
        return algebra.matmul(op, build(i, k), build(k + 1, j))

    return build(0, len(xs) - 1)


def _cheapest(ends: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each part of a chain; the classic dynamic program."""
    n = len(ends) - 1
    cost = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            best = min(
                (cost[i, k] + cost[k + 1, j] + ends[i] * ends[k + 1] * ends[j + 1], k)
                for k in range(i, j)
            )
            cost[i, j], split[i, j] = best
    return split


@aten(
    "aten::linalg_vecdot",
    rule=elementwise(("x", "y")),
    tests=[OpTest("linalg.vecdot", tol=_HALF)],
    complex="same",
)
def linalg_vecdot(op: Op, x: Value, y: Value, *, dim: int = -1) -> Value:
    """The sum of `conj(x) * y` along an axis."""
    product = algebra.mul(op, algebra.conj(op, x), y)
    return algebra.reduce_sum(op, algebra.widen_small(op, product), [dim])


@aten(
    "aten::linalg_cross",
    rule=elementwise(("self", "other")),
    tests=[OpTest("linalg.cross", tol=_HALF)],
    complex="same",
)
def linalg_cross(op: Op, self: Value, other: Value, *, dim: int = -1) -> Value:
    """The cross product of vectors of three along an axis."""
    return _cross(op, self, other, dim)


@aten(
    "aten::cross",
    rule=elementwise(("self", "other")),
    tests=[OpTest("cross", tol=_HALF)],
    complex="same",
)
def cross(op: Op, self: Value, other: Value, dim: int | None = None) -> Value:
    """The cross product along an axis; along the first one of size three by default."""
    if dim is None:
        three = [n for n in range(self.rank) if 3 in (self.shape[n], other.shape[n])]
        if not three:
            unsupported("which axis has size three is not known", hint="give `dim`")
        dim = three[0]
    return _cross(op, self, other, dim)


def _cross(op: Op, a: Value, b: Value, dim: int) -> Value:
    next_, before = op.constant(np.array([1, 2, 0])), op.constant(np.array([2, 0, 1]))

    def turned(x: Value, order: Any) -> Value:
        axis = dim if dim < 0 else dim - max(a.rank, b.rank)
        return algebra.each(lambda v: op.Gather(v, order, axis=axis), x)

    return algebra.sub(
        op,
        algebra.mul(op, turned(a, next_), turned(b, before)),
        algebra.mul(op, turned(a, before), turned(b, next_)),
    )


@aten("aten::_grouped_mm", rule=custom(), untested="torch has no OpInfo for it")
def grouped_mm(
    op: Op,
    self: Value,
    mat2: Value,
    offs: Value | None = None,
    bias: Value | None = None,
    out_dtype: DType | None = None,
) -> Value:
    """Products of groups of rows (or columns, or of the inner axis) that end at `offs`."""
    dtype = out_dtype or self.onnx_dtype
    if bias is not None:
        unsupported("torch itself has no grouped product with a bias")
    if offs is None:
        return cast(op, op.MatMul(self, mat2), dtype)
    groups = size(op, offs, 0)
    if not isinstance(groups, int):
        unsupported("the number of groups is not known")
    ends = op.Cast(offs, to=DType.INT64)
    starts = op.Concat(op.constant(np.zeros(1, np.int64)), op.Slice(ends, [0], [-1]), axis=0)
    results = []
    for g in range(groups):
        span = [op.Slice(v, [g], [g + 1]) for v in (starts, ends)]
        results.append(_group(op, self, mat2, g, span))
    stacked = self.rank == 2 and mat2.rank == 2
    if stacked:
        result = op.Concat(*(op.Unsqueeze(r, [0]) for r in results), axis=0)
    else:
        result = op.Concat(*results, axis=0 if self.rank == 2 else 1)
    return cast(op, result, dtype)


def _group(op: Op, a: Value, b: Value, g: int, span: list[Any]) -> Value:
    if a.rank == 2 and b.rank == 3:
        return op.MatMul(op.Slice(a, *span, [0]), op.Gather(b, g, axis=0))
    if a.rank == 3:
        return op.MatMul(op.Gather(a, g, axis=0), op.Slice(b, *span, [1]))
    return op.MatMul(op.Slice(a, *span, [1]), op.Slice(b, *span, [0]))


@aten(
    "transformers::grouped_mm_fallback",
    rule=custom(),
    untested="an operator of the package transformers",
)
def grouped_mm_fallback(op: Op, input: Value, weight: Value, offs: Value) -> Any:
    """Rows in groups that end at `offs`, each times its matrix; rows after the last are zeros.

    Source: transformers.integrations.moe.
    """
    product = grouped_mm.body(op, input, weight, offs)
    rows = size(op, input, 0)
    left = op.Sub(vector(op, [rows]), op.Cast(op.Slice(offs, [-1], [_LAST]), to=DType.INT64))
    zero = op.constant(np.zeros((1, 1), product.onnx_dtype.numpy))
    tail = op.Concat(left, vector(op, [size(op, weight, 2)]), axis=0)
    return op.Concat(product, op.Expand(zero, tail), axis=0)
