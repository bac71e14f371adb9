"""Products written as Einsum, and factors around products."""

from __future__ import annotations

from typing import Any

from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attr
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
def einsum_to_matmul(op: Any, x: Any, y: Any, equation: Attr) -> Any:
    """An Einsum that is a product of matrices, one of them transposed at most."""
    return op.Einsum(x, y, equation=equation)


@einsum_to_matmul.to
def _(op: Any, x: Any, y: Any, equation: Any) -> Any:
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
