"""Operators of symbolic numbers, as Python computes them.

PyTorch has no arithmetic of truth values, and takes floats for real numbers: of NaN and infinity,
`a != a`, `a - a != 0` and `a * 0 != 0` would be false.  What it gets wrong is computed by tensors.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import SymT, free_unbacked_symbols, symbol_is_type

from onnxwright.exporter.capture.graphs.regions import tracer
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.number_forms import SYMBOLS
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.numbers import (
    OPERATIONS,
    is_number,
    is_unknown,
    operation,
    refuse_caught,
)


def operators_of_symbols(changes: Changes, model: Any) -> None:
    """Replace the operators of symbolic numbers by those of Python's numbers."""
    for name, own in OPERATIONS.items():
        if own.gives == "truths":
            before = getattr(torch.SymFloat, f"__{name}__")
            changes.attribute(torch.SymFloat, f"__{name}__", _comparison(name, before))
        if own.gives not in ("numbers", "floats"):
            continue
        for home in (torch.SymBool, torch.SymInt, torch.SymFloat):
            for swapped in (False, True):
                method = f"__{'r' if swapped else ''}{name}__"
                before = getattr(home, method, None)
                if home is torch.SymBool or before is not None:
                    changes.attribute(home, method, _arithmetic(name, before, swapped))


def _comparison(name: str, before: Any) -> Callable[..., Any]:
    """A comparison of floats, any of which may be NaN or infinity."""

    def method(*operands: Any) -> Any:
        if current() is None or not _are_floats(operands):
            return before(*operands)
        return _of_any_floats(name, operands, before)

    return method


def _arithmetic(name: str, before: Any, swapped: bool) -> Callable[..., Any]:
    """A method of symbolic numbers that takes comparisons as 0 and 1, and any exponent."""

    def method(*arguments: Any) -> Any:
        if current() is None:
            return NotImplemented if before is None else before(*arguments)
        operands = list(reversed(arguments) if swapped else arguments)
        refuse_caught(OPERATIONS[name], operands)
        has_truth = any(isinstance(v, torch.SymBool) for v in arguments)
        if name == "pow" and (has_truth or any(map(is_unknown, arguments))):
            if not (isinstance(operands[1], int) and operands[1] >= 0):
                return operation(name, *operands)
        if has_truth:
            whole = (torch.sym_ite(v, 1, 0) if isinstance(v, torch.SymBool) else v
                     for v in operands)  # fmt: skip
            return OPERATIONS[name].python(*whole)
        if before is None:
            return NotImplemented
        if not _are_floats(arguments):
            return before(*arguments)
        return _of_any_floats(name, operands, lambda *_: before(*arguments))

    return method


def _are_floats(values: Sequence[Any]) -> bool:
    """Whether numbers follow from floats of run time; not where PyTorch asks for itself."""
    has_floats = tracer() is not None and floats_of_run_time(values)
    return bool(has_floats) and all(map(is_number, values))


def _of_any_floats(name: str, operands: Sequence[Any], before: Callable[..., Any]) -> Any:
    """What an operator gives: by tensors where PyTorch cancels a symbol of NaN or infinity."""
    if not any(isinstance(v, float) and not math.isfinite(v) for v in operands):
        symbolic = before(*operands)
        if floats_of_run_time(operands) <= floats_of_run_time([symbolic]):
            return symbolic
    return operation(name, *operands)


def floats_of_run_time(values: Iterable[Any]) -> set[Any]:
    """The symbols of floats of run time, any of which may be NaN, that numbers follow from."""
    symbols = {s for v in values if isinstance(v, SYMBOLS) for s in free_unbacked_symbols(v)}
    return {s for s in symbols if symbol_is_type(s, SymT.UNBACKED_FLOAT)}


def bits(name: str, one: Any, other: Any) -> Any:
    """`one & other`, `one << other` and the like, of symbolic numbers of run time as well."""
    symbolic = any(isinstance(v, torch.SymInt) and is_unknown(v) for v in (one, other))
    if not symbolic or current() is None or not all(map(is_number, (one, other))):
        if name == "xor" and any(isinstance(v, torch.SymInt) for v in (one, other)):
            return (one | other) - (one & other)  # a program of torch has no `xor`
        return getattr(operator, name)(one, other)
    return operation(name, one, other)
