"""Einsum for versions that do not have it: a MatMul, or products of elements and their sums."""

from __future__ import annotations

from functools import reduce
from typing import Any

from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.ops import Ops
from onnxwright.versions.call import Call, Refused, down

Term = tuple[GraphValue, str]  # a value and a letter for each of its axes


@down(12, "Einsum")
def einsum_by_products(op: Ops, call: Call) -> Any:
    """Two operands that share at most one summed letter are a MatMul.  Source: ONNX Einsum 12."""
    equation = str(call.attr("equation")).replace(" ", "")
    left, arrow, out = equation.partition("->")
    parts = left.split(",")
    if not arrow:
        out = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    if "." in equation or any(len(set(p)) < len(p) for p in (*parts, out)):
        raise Refused(
            "its equation has an ellipsis or a letter twice in one term, which is not written out"
        )
    terms = [
        _summed(op, (call.input(n), part), set(out).union(*parts[:n], *parts[n + 1 :]))
        for n, part in enumerate(parts)
    ]
    term = _product(op, *terms, out=out) if len(terms) == 2 else None
    return _ordered(op, term or _by_elements(op, terms, out), out)


def _summed(op: Ops, term: Term, kept: set[str]) -> Term:
    """A term without the letters that nothing else has."""
    value, letters = term
    axes = [n for n, c in enumerate(letters) if c not in kept]
    if axes:
        value = op.ReduceSum(value, axes=axes, keepdims=0)
    return value, "".join(c for c in letters if c in kept)


def _product(op: Ops, a: Term, b: Term, *, out: str) -> Term | None:
    """A MatMul, where at most one letter is in both alone, in one alone, and summed."""
    shared = [c for c in a[1] if c in b[1]]
    batch = "".join(c for c in shared if c in out)
    inner = "".join(c for c in shared if c not in out)
    rows = "".join(c for c in a[1] if c not in b[1])
    columns = "".join(c for c in b[1] if c not in a[1])
    if len(inner) != 1 or len(rows) > 1 or len(columns) > 1:
        return None
    x = _ordered(op, a, batch + rows + inner)
    y = _ordered(op, b, batch + inner + columns)
    if not rows:
        x = op.Unsqueeze(x, axes=[len(batch)])
    if not columns:
        y = op.Unsqueeze(y, axes=[len(batch) + 1])
    product = op.MatMul(x, y)
    missing = [len(batch) + n for n, group in enumerate((rows, columns)) if not group]
    if missing:
        product = op.Squeeze(product, axes=missing)
    return product, batch + rows + columns


def _by_elements(op: Ops, terms: list[Term], out: str) -> Term:
    """Each term with an axis of length 1 for each letter that it lacks; products and a sum."""
    every = list(dict.fromkeys(c for _, letters in terms for c in letters))
    wide = []
    for value, letters in terms:
        value = _ordered(op, (value, letters), "".join(c for c in every if c in letters))
        lacking = [n for n, c in enumerate(every) if c not in letters]
        wide.append(op.Unsqueeze(value, axes=lacking) if lacking else value)
    return _summed(op, (reduce(op.Mul, wide), "".join(every)), set(out))


def _ordered(op: Ops, term: Term, letters: str) -> GraphValue:
    """A term with its axes in another order."""
    value, own_letters = term
    if own_letters == letters:
        return value
    ordered: GraphValue = op.Transpose(value, perm=[own_letters.index(c) for c in letters])
    return ordered
