"""Larger example inputs, where a number that follows from sizes is 1 in the example.

PyTorch takes an axis of `n // 4` elements as fixed where the example has 4 rows: one element is
spread over others.  With an example of 8 rows it asks nothing.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import sympy  # type: ignore[import-untyped]
from torch.export import ExportedProgram

from onnxwright.exporter.capture.assumptions.examples import fitting
from onnxwright.exporter.capture.assumptions.guards import places_of
from onnxwright.exporter.capture.assumptions.specialization import is_taken_as_one
from onnxwright.exporter.capture.inputs.captured_sizes import declared_ranges
from onnxwright.exporter.capture.inputs.related_sizes import resized
from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.dimensions import shape_environment
from onnxwright.exporter.torch_internals import pytree, values_of_sizes

# The largest size of a larger example; four times that of the example, if that is more.
_MOST = 4096


def numbers_taken_as_one(program: ExportedProgram) -> list[Any]:
    """The numbers that follow from sizes and that a program has as 1, as torch's expressions."""
    environment = shape_environment(program)
    guards = () if environment is None else environment.guards
    return [g.expr.lhs for g in guards if is_taken_as_one(g.expr)]


def larger(program: ExportedProgram, wanted: Wanted) -> Wanted | None:
    """Example inputs with sizes at which no number that a program has as 1 is 1.

    Args:
        program: what was captured with the example inputs.
        wanted: these, and which dimensions are dynamic.

    Returns:
        The same with larger example inputs; None where no number is 1, or no sizes are found.
    """
    ones = numbers_taken_as_one(program)
    if not ones:
        return None
    sizes = values_of_sizes(shape_environment(program))
    now = {str(s): int(value) for s, value in sizes.items() if value.is_Integer}
    conditions = [sympy.Gt(number, 1) for number in ones]
    ranges = {s: (0, max(_MOST, 4 * size)) for s, size in now.items()}
    for s, (low, high) in declared_ranges(program, wanted).items():
        ranges[s] = low, ranges[s][1] if high is None else min(high, ranges[s][1])
    found = fitting(conditions, now, ranges)
    if found is None:
        return None
    leaves, spec = pytree.tree_flatten((wanted.args, wanted.kwargs))
    changed = {
        place: found[symbol]
        for place, symbol in places_of(program).items()
        if place[1] is not None and found.get(symbol) != now.get(symbol)
    }
    args, kwargs = pytree.tree_unflatten(resized(leaves, wanted.axes, changed), spec)
    return dataclasses.replace(wanted, args=args, kwargs=kwargs)
