"""Operators of tensors that stand for numbers of Python: their results do, too.

A number of Python is never changed in place: `m += 1` leaves other names of the number alone, also
in functions that are not rewritten.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from onnxwright.exporter.capture.source.regions import SYMBOLS
from onnxwright.exporter.capture.source.session import Session

_IN_PLACE: dict[str, Callable[..., Any]] = {
    "add_": operator.add, "sub_": operator.sub, "mul_": operator.mul, "div_": operator.truediv,
    "__itruediv__": operator.truediv, "__idiv__": operator.truediv,
    "floor_divide_": operator.floordiv, "__ifloordiv__": operator.floordiv,
    "remainder_": operator.mod, "__imod__": operator.mod, "pow_": operator.pow,
    "__ipow__": operator.pow, "__ilshift__": operator.lshift, "__irshift__": operator.rshift,
    "__iand__": operator.and_, "__ior__": operator.or_, "__ixor__": operator.xor,
}  # fmt: skip
_ARITHMETIC = frozenset(
    ["neg", "abs", "bitwise_not", "rsub", "true_divide", "bitwise_and", "bitwise_or", "bitwise_xor"]
    + [n for name in _IN_PLACE for n in (name, name.rstrip("_"))]
    + [f"__{side}{name}__" for side in ("", "r") for name in
       ("add", "sub", "mul", "truediv", "div", "floordiv", "mod", "pow", "lshift", "rshift", "and",
        "or", "xor", "neg", "pos", "abs", "invert")]
)  # fmt: skip
_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def in_place(function: Any, args: Any, session: Session | None) -> Callable[..., Any] | None:
    """What `a += b` means where `a` is a number of Python; None for other calls."""
    name = getattr(function, "__name__", "")
    if name not in _IN_PLACE or session is None or not args or not _stands(args[0], session):
        return None
    return _IN_PLACE[name]


def note_number(function: Any, args: Any, result: Any, session: Session | None) -> None:
    """Remember that a result stands for a number, if all that it was computed of does."""
    name = getattr(function, "__name__", "")
    if session is None or not isinstance(result, torch.Tensor) or result.ndim:
        return
    if name not in _ARITHMETIC and name not in _COMPARISONS:
        return
    if not any(_stands(a, session) for a in args) or not all(_is_number(a, session) for a in args):
        return
    (session.numbers if name in _ARITHMETIC else session.answers).add(result)


def _stands(value: Any, session: Session) -> bool:
    return isinstance(value, torch.Tensor) and (
        value in session.numbers or value in session.answers
    )


def _is_number(value: Any, session: Session) -> bool:
    return isinstance(value, (int, float, *SYMBOLS)) or _stands(value, session)
