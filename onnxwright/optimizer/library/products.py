"""Products written as Einsum, and factors around products."""

from __future__ import annotations

from typing import Any

from onnxwright.optimizer.building import modern
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attr, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule
from onnxwright.types.dtypes import DType

_FLOATS = (DType.FLOAT, DType.DOUBLE, DType.FLOAT16)


def _einsum(rng: Any) -> Draw:
    equation = str(rng.choice(["bij,bjk->bik", "bhid,bhjd->bhij", "ij,jk->ik", "bji,bjk->bik"]))
    left, right = equation.split("->", maxsplit=1)[0].split(",")
    sizes = {c: int(rng.integers(1, 5)) for c in equation if c.isalpha()}
    return {
        "x": floats(rng, tuple(sizes[c] for c in left)),
        "y": floats(rng, tuple(sizes[c] for c in right)),
        "equation": equation,
    }


@rule(since=12, level="rounding", cases=_einsum)
def einsum_to_matmul(op: Op, x: Value, y: Value, equation: Attr) -> Any:
    """An Einsum that is a product of matrices, one of them transposed at most."""
    return op.Einsum(x, y, equation=equation)


@einsum_to_matmul.to
def _(op: Op, x: Value, y: Value, equation: Any) -> Any:
    text = (equation.decode() if isinstance(equation, bytes) else equation).replace(" ", "")
    if "." in text or text.count("->") != 1 or x.dtype not in _FLOATS:
        return None
    sides, out = text.split("->")
    if sides.count(",") != 1:
        return None
    left, right = sides.split(",")
    rank = len(out)
    if not (len(left) == len(right) == rank >= 2) or x.rank != rank or y.rank != rank:
        return None
    batch, row, column = out[:-2], out[-2], out[-1]
    if left[:-2] != batch or right[:-2] != batch or row == column or len(set(out)) != rank:
        return None
    summed = set(left[-2:]) - {row}
    if len(summed) != 1 or len(set(left)) != rank or len(set(right)) != rank:
        return None
    (inner,) = summed
    if set(left[-2:]) != {row, inner} or set(right[-2:]) != {inner, column} or inner in out:
        return None
    if any(a is None or a != b for a, b in zip(x.shape[:-2], y.shape[:-2], strict=True)):
        return None
    perm = [*range(rank - 2), rank - 1, rank - 2]
    first = x if left[-2:] == row + inner else op.Transpose(x, perm=perm)
    second = y if right[-2:] == inner + column else op.Transpose(y, perm=perm)
    return op.MatMul(first, second)


def _dense(rng: Any) -> Draw:
    b, i, k, j = (int(n) for n in rng.integers(1, 5, size=4))
    return {"x": floats(rng, (b, i, k)), "w": floats(rng, (k, j)), "equation": "abc,cd->abd"}


@rule(since=12, level="rounding", cases=_dense)
def einsum_by_weight(op: Op, x: Value, w: Const, equation: Attr) -> Any:
    """An Einsum that multiplies each row with a matrix."""
    return op.Einsum(x, w, equation=equation)


@einsum_by_weight.to
def _(op: Op, x: Value, w: Value, equation: Any) -> Any:
    terms = _terms(equation, 2)
    if terms is None or x.dtype not in _FLOATS or x.rank is None:
        return None
    (left, right), out = terms
    if len(left) != x.rank or w.rank != len(right) or len(right) != 2 or len(left) < 2:
        return None
    inner = left[-1]
    if inner not in right or out != left[:-1] + right.replace(inner, "") or inner in out:
        return None
    return op.MatMul(x, w if right[0] == inner else op.Transpose(w, perm=[1, 0]))


def _terms(equation: Any, count: int) -> tuple[list[str], str] | None:
    """The terms of an equation and its result, where no letter stands twice in one of them."""
    text = (equation.decode() if isinstance(equation, bytes) else equation).replace(" ", "")
    if "." in text or text.count("->") != 1:
        return None
    sides, out = text.split("->")
    terms = sides.split(",")
    if len(terms) != count or any(len(set(t)) != len(t) for t in (*terms, out)):
        return None
    return terms, out


def _single(rng: Any) -> Draw:
    shape = tuple(int(n) for n in rng.integers(1, 5, size=3))
    return {"x": floats(rng, shape), "equation": str(rng.choice(["abc->cab", "abc->ac", "abc->a"]))}


@rule(since=13, level="rounding", cases=_single)
def einsum_of_one(op: Op, x: Value, equation: Attr) -> Any:
    """An Einsum of one operand is a Transpose or a ReduceSum."""
    return op.Einsum(x, equation=equation)


@einsum_of_one.to
def _(op: Op, x: Value, equation: Any) -> Any:
    terms = _terms(equation, 1)
    if terms is None or x.rank is None or x.dtype not in _FLOATS:
        return None
    (term,), out = terms
    if len(term) != x.rank or not set(out) <= set(term):
        return None
    if len(out) == len(term):
        return op.Transpose(x, perm=[term.index(c) for c in out])
    if out != "".join(c for c in term if c in out):
        return None
    return modern(op).ReduceSum(x, [n for n, c in enumerate(term) if c not in out], keepdims=0)


def _pairs(rng: Any) -> Draw:
    shape = tuple(int(n) for n in rng.integers(1, 5, size=2))
    return {"x": floats(rng, shape), "y": floats(rng, shape), "equation": "ab,ab->ab"}


@rule(since=12, level="rounding", cases=_pairs)
def einsum_of_elements(op: Op, x: Value, y: Value, equation: Attr) -> Any:
    """An Einsum that multiplies elements at the same places."""
    return op.Einsum(x, y, equation=equation)


@einsum_of_elements.to
def _(op: Op, x: Value, y: Value, equation: Any) -> Any:
    terms = _terms(equation, 2)
    if terms is None or terms[0][0] != terms[1] or terms[0][1] != terms[1]:
        return None
    if x.shape is None or x.shape != y.shape or None in x.shape:
        return None
    return op.Mul(x, y) if x.dtype in _FLOATS else None
