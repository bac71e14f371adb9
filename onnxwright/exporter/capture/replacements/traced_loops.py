"""Loops of functions in a program that is captured: `scan` of torch.

A function is run once, where it stands, on tensors without values; what it computes becomes the
body.  It may read weights and other tensors of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.decisions.conditional import Outputs
from onnxwright.exporter.capture.graphs.emitting import emit
from onnxwright.exporter.capture.graphs.regions import Region, empty, operand_values, tracer


def is_traced() -> bool:
    """Whether a program is captured now."""
    return tracer() is not None


def scan(
    step: Callable[..., tuple[Sequence[Any], Sequence[Any]]],
    start: Sequence[Any],
    rows: Sequence[Any],
) -> tuple[list[Any], list[Any]]:
    """Tensors that are carried along the first axis of others.

    Args:
        step: takes the carried tensors and one row of each of the others; gives the next carried
            ones, of the same shapes and element types, and results.
        start: the carried tensors before the first row.
        rows: tensors of as many rows.

    Returns:
        The carried tensors after the last row, and the results of all rows, stacked.
    """
    start = [_copy(x) for x in start]
    count = len(start)
    with Region() as region:
        copies = [_copy(x) for x in (*start, *(x[0] for x in rows))]
        for x in copies:
            region.input(x)
        after, outputs = step(*copies)
        part = region.close([*after, *outputs])
    inputs = list(part.read)[: count + len(rows)]
    rest = [node for node in part.read if node not in inputs]
    results = Outputs(part)
    for value in (*after, *outputs):
        results.add(value, value, "a result", value.dtype)
    body = part.module([*inputs, *rest], results.nodes)
    length = rows[0].shape[0]
    emitted = emit(
        torch.ops.higher_order.scan,
        {"scan_combine_graph": body},
        (body, start, [x.contiguous() for x in rows], tuple(operand_values(rest))),
        [
            *(empty(x.shape, x.dtype) for x in start),
            *(empty([length, *x.shape], x.dtype) for x in outputs),
        ],
    )
    return list(emitted[:count]), list(emitted[count:])


def _copy(x: Any) -> Any:
    return x.clone(memory_format=torch.contiguous_format)
