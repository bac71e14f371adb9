"""Loops of functions in a program that is captured: `while_loop` and `scan` of torch.

A function is run once, where it stands, on tensors without values; what it computes becomes the
body.  It may read weights and other tensors of the program, and write to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.source.conditional import Outputs
from onnxwright.exporter.capture.source.emitting import emit
from onnxwright.exporter.capture.source.regions import Part, Region, empty, operand_values, tracer


def is_traced() -> bool:
    """Whether a program is captured now."""
    return tracer() is not None


def while_loop(
    test: Callable[..., Any], body: Callable[..., Sequence[Any]], start: Sequence[Any]
) -> list[Any]:
    """Tensors after a loop.

    Args:
        test: takes the tensors, gives a truth value without axes: whether there is an iteration.
        body: takes the tensors, gives the next ones, of the same shapes and element types.
        start: the tensors before the loop.

    Returns:
        The tensors after the last iteration.
    """
    start = [_copy(x) for x in start]
    asked, going = _part(lambda *values: [test(*values)], start)
    done, after = _part(body, start)
    count = len(start)
    first, second = list(asked.read)[:count], list(done.read)[:count]
    written = [n for n in done.written if n not in second]
    rest = _others((asked, done), (*first, *second, *written))
    truth = Outputs(asked)
    truth.add(going[0], going[0], "the condition", torch.bool)
    one = asked.module([*first, *written, *rest], truth.nodes)
    two = done.module([*second, *written, *rest], _outputs(done, after, written))
    values = operand_values([*written, *rest])
    targets = values[: len(written)]
    begun = [*start, *map(_copy, targets)]
    results = emit(
        torch.ops.higher_order.while_loop,
        {"while_loop_cond_graph": one, "while_loop_body_graph": two},
        (one, two, tuple(begun), tuple(values[len(written) :])),
        [empty(x.shape, x.dtype) for x in begun],
    )
    return _given_back(results, count, targets)


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
    results: list[Any] = []

    def one_row(*values: Any) -> list[Any]:
        after, outputs = step(*values)
        results[:] = outputs
        return [*after, *outputs]

    part, outputs = _part(one_row, [*start, *(x[0] for x in rows)])
    count = len(start)
    inputs = list(part.read)[: count + len(rows)]
    written = [n for n in part.written if n not in inputs]
    rest = _others((part,), (*inputs, *written))
    nodes = _outputs(part, outputs, written)
    # Torch's order: what is carried, then what is stacked.
    nodes = [*nodes[:count], *nodes[len(outputs) :], *nodes[count : len(outputs)]]
    body = part.module([*inputs[:count], *written, *inputs[count:], *rest], nodes)
    values = operand_values([*written, *rest])
    targets = values[: len(written)]
    begun = [*start, *map(_copy, targets)]
    length = rows[0].shape[0]
    emitted = emit(
        torch.ops.higher_order.scan,
        {"scan_combine_graph": body},
        (body, begun, [x.contiguous() for x in rows], tuple(values[len(written) :])),
        [
            *(empty(x.shape, x.dtype) for x in begun),
            *(empty([length, *x.shape], x.dtype) for x in outputs[count:]),
        ],
    )
    carried = _given_back(emitted, count, targets)
    return carried, list(emitted[len(begun) :])


def _part(function: Callable[..., Sequence[Any]], inputs: Sequence[Any]) -> tuple[Part, list[Any]]:
    """A function as a graph whose first operands are its inputs, and its outputs."""
    with Region() as region:
        copies = [_copy(x) for x in inputs]
        for x in copies:
            region.input(x)
        outputs = list(function(*copies))
        return region.close(outputs), outputs


def _copy(x: Any) -> Any:
    return x.clone(memory_format=torch.contiguous_format)


def _outputs(part: Part, values: Sequence[Any], written: Sequence[Any]) -> list[Any]:
    outputs = Outputs(part)
    for value in values:
        outputs.add(value, value, "a result", value.dtype)
    for node in written:
        outputs.add_node(part.written[node])
    return outputs.nodes


def _others(parts: Sequence[Part], values: Sequence[Any]) -> list[Any]:
    """What parts read besides."""
    nodes = dict.fromkeys(node for part in parts for node in part.read)
    return [node for node in nodes if node not in values]


def _given_back(results: Sequence[Any], count: int, targets: Sequence[Any]) -> list[Any]:
    """The carried results; the others are written to where they came from."""
    for target, value in zip(targets, results[count:]):
        target.copy_(value)
    return list(results[:count])
