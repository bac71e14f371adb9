"""`while_loop` of torch, of a condition and an iteration that were traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.decisions.conditional import Outputs
from onnxwright.exporter.capture.graphs.aliases import kept_equal
from onnxwright.exporter.capture.graphs.emitting import emit
from onnxwright.exporter.capture.graphs.memory import node_of
from onnxwright.exporter.capture.graphs.regions import Part, empty, operand_values, tracer
from onnxwright.exporter.capture.loops.carries import Carry, start_of


def emit_loop(
    test: Part,
    going: Any,
    body: Part,
    carried: Sequence[tuple[Carry, Any]],
    scanned: Sequence[tuple[Carry, Any]],
) -> list[Any]:
    """Add a loop to the graph.

    Args:
        test: the condition; what it reads first is what is carried.
        going: what it gives.
        body: an iteration; what it reads first is what is carried.
        carried: what is carried, each with what an iteration gives for it.
        scanned: what an iteration gives and no iteration reads.

    Returns:
        What the last iteration gives, of what is carried and what is not read.
    """
    every = [*carried, *scanned]
    begun = [start_of(carry) for carry, _ in every]
    scans = [node_of(tracer(), x) for x in begun[len(carried) :]]
    first, second = list(test.read)[: len(carried)], list(body.read)[: len(carried)]
    written = [n for n in body.written if n not in second]
    made = Outputs(body)
    for carry, leaf in every:
        made.add(leaf, leaf, carry.path, carry.dtype, carry.sizes())
    for node in written:
        made.add_node(body.written[node])
    truth = Outputs(test)
    truth.add(going, going, "the condition", torch.bool)
    rest = [n for n in dict.fromkeys([*test.read, *body.read])
            if n not in first and n not in second and n not in written]  # fmt: skip
    one = test.module([*first, *scans, *written, *rest], truth.nodes)
    two = body.module([*second, *scans, *written, *rest], made.nodes)
    values = operand_values([*written, *rest])
    targets = values[: len(written)]
    begun += [t.clone(memory_format=torch.contiguous_format) for t in targets]
    parts = {"while_loop_cond_graph": one, "while_loop_body_graph": two}
    args = (one, two, tuple(begun), tuple(values[len(written) :]))
    given = [empty(carry.unknown_sizes(), carry.dtype) for carry, _ in every]
    given += [empty(x.shape, x.dtype) for x in targets]
    results = emit(torch.ops.higher_order.while_loop, parts, args, given)
    with kept_equal():
        for target, value in zip(targets, results[len(every) :]):
            target.copy_(value)
    return list(results[: len(every)])
