"""Loops and Scans of a known number of iterations, written out where that takes fewer nodes.

They are built aside first, with what is known of the values around: only then is it known how much
of an iteration folds, whether its condition is certain, and how many nodes are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import onnx_ir as ir

from onnxwright.errors import OnnxwrightError
from onnxwright.ir.nested import all_nodes, subgraphs
from onnxwright.operators.op_call import UnknownError
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.graph_backend import GraphBackend


class Replaying(Protocol):
    """What replays the nodes of a body: a `Replay`."""

    @property
    def b(self) -> GraphBackend:
        """The backend."""

    def run(
        self,
        nodes: Iterable[ir.Node],
        outputs: Sequence[ir.Value | None],
        env: dict[ir.Value, GraphValue | None],
        /,
    ) -> list[GraphValue | None]:
        """The values of outputs, given those of inputs."""

    def value(
        self, value: ir.Value, env: dict[ir.Value, GraphValue | None], /
    ) -> GraphValue | None:
        """What stands for a value of the source graph."""

    def like(self, b: GraphBackend, /) -> Replaying:
        """A replay of the same nodes through another backend."""


# Loops of more iterations are left alone.
MOST_ITERATIONS = 16
# Bytes of new constants that a loop may leave when it is written out.
MOST_BYTES = 16 * 1024


class NotKnownError(Exception):
    """Whether there is a next iteration is only known when the model runs."""


def known_loop(
    replay: Replaying, node: ir.Node, inputs: Sequence[GraphValue | None], env: Any
) -> Sequence[GraphValue | None] | None:
    """The results of a Loop that never runs, runs once, or is smaller when it is written out.

    Returns:
        One value for each output; None for other Loops.
    """
    body, carried = node.attributes.get("body"), inputs[2:]
    if body is None or body.is_ref() or any(v is None for v in carried):
        return None
    count, graph = known_iterations(replay.b, inputs), body.as_graph()
    sizes = (len(carried) + 2, len(carried) + 1)
    if len(graph.inputs) != sizes[0] or len(graph.outputs) < sizes[1]:
        return None
    if count == 0:
        return carried[: len(node.outputs)] if len(node.outputs) <= len(carried) else None
    if count is None or count > MOST_ITERATIONS:
        return None

    def write(replay: Any, values: Any) -> list[Any]:
        around, arguments = values
        return iterations(replay, graph, count, arguments[2:], around)

    if count > 1 and not is_worth_it(replay, graph, env, write, inputs):
        return None
    return iterations(replay, graph, count, carried, env)[: len(node.outputs)]


def known_scan(
    replay: Replaying, node: ir.Node, inputs: Sequence[GraphValue | None], env: Any
) -> Sequence[GraphValue | None] | None:
    """The results of a Scan over sequences of length 1; the arguments are those of `known_loop`."""
    body, count = node.attributes.get("body"), node.attributes.get("num_scan_inputs")
    if body is None or count is None or body.is_ref() or count.is_ref():
        return None
    graph, scanned = body.as_graph(), count.as_int()
    if any(v is None for v in inputs) or len(graph.inputs) != len(inputs):
        return None
    collected = len(graph.outputs) - (len(inputs) - scanned)
    inner, outer = (
        _axes(node, name, n)
        for name, n in (("scan_input_axes", scanned), ("scan_output_axes", collected))
    )
    for value, axis in zip(inputs[len(inputs) - scanned :], inner, strict=True):
        shape = None if value is None else value.shape
        if shape is None or not -len(shape) <= axis < len(shape) or shape[axis] != 1:
            return None

    def write(replay: Any, values: Any) -> list[Any]:
        around, arguments = values
        return scanned_once(replay, graph, (inner, outer), arguments, around)

    if not is_worth_it(replay, graph, env, write, inputs):
        return None
    return scanned_once(replay, graph, (inner, outer), inputs, env)[: len(node.outputs)]


def _axes(node: ir.Node, name: str, count: int) -> list[int]:
    """The axes that a Scan has one of for each sequence, 0 where it does not say."""
    attr = node.attributes.get(name)
    return [0] * count if attr is None or attr.is_ref() else [int(a) for a in attr.as_ints()]


def iterations(
    replay: Replaying, graph: ir.Graph, count: int, carried: Sequence[Any], env: Any
) -> list[Any]:
    """The results of a Loop whose body is written out.

    Args:
        count: how often it runs at most.
        carried: the first values that are carried.

    Returns:
        What is carried in the end, then the stacked results.

    Raises:
        NotKnownError: a condition is not known.
    """
    rows: list[list[Any]] = [[] for _ in graph.outputs[len(carried) + 1 :]]
    state = list(carried)
    for n in range(count):
        scalars = [replay.b.constant(np.array(n, np.int64)), replay.b.constant(np.array(True))]
        inner = env.copy()
        inner.update(zip(graph.inputs, [*scalars, *state], strict=True))
        going, *outputs = replay.run(graph, list(graph.outputs), inner)
        state = outputs[: len(carried)]
        for row, value in zip(rows, outputs[len(carried) :], strict=True):
            row.append(value)
        condition = None if going is None else replay.b.constant_value(going)
        if condition is None or condition.size != 1:
            if n + 1 < count:
                raise NotKnownError
        elif not condition.item():
            break
    return [*state, *(_stacked(replay.b, row) for row in rows)]


def _stacked(b: GraphBackend, rows: Sequence[Any]) -> Any:
    """Values with an axis in front, one after the other."""
    each = [first_row(b, row) for row in rows]
    return each[0] if len(each) == 1 else b.standard("Concat", each, {"axis": 0})


def scanned_once(
    replay: Replaying,
    graph: ir.Graph,
    axes: tuple[Sequence[int], Sequence[int]],
    values: Any,
    env: Any,
) -> list[Any]:
    """The results of a Scan over sequences of length 1.

    Args:
        replay: replays the nodes of the body.

    Returns:
        The states, then the sequences that are made.
    """
    b, (inner_axes, outer_axes) = replay.b, axes
    states = len(values) - len(inner_axes)
    slices = [
        _with_axis(b, "Squeeze", v, a) for v, a in zip(values[states:], inner_axes, strict=True)
    ]
    inner = env.copy()
    inner.update(zip(graph.inputs, [*values[:states], *slices], strict=True))
    results = replay.run(graph, list(graph.outputs), inner)
    rows = [
        _with_axis(b, "Unsqueeze", v, a) for v, a in zip(results[states:], outer_axes, strict=True)
    ]
    return [*results[:states], *rows]


def _with_axis(b: GraphBackend, name: str, value: Any, axis: int) -> Any:
    """A Squeeze or Unsqueeze of one axis."""
    if b.opset.version < 13:
        return b.standard(name, [value], {"axes": [axis]})
    return b.standard(name, [value, b.constant(np.array([axis], np.int64))])


def is_worth_it(
    replay: Replaying, graph: ir.Graph, env: Any, write: Callable[[Any, Any], list[Any]],
    inputs: Sequence[GraphValue | None],
) -> bool:  # fmt: skip
    """Whether a body that is written out has no more nodes than the node that has it.

    Args:
        write: writes it out: it is called with a replay aside, stand-ins for the values around,
            and returns the results.

    Returns:
        False where it has more, larger constants are left, or nothing is certain.
    """
    aside = replay.b.aside()

    def stand_in(value: GraphValue | None) -> GraphValue | None:
        if value is None:
            return None
        array = replay.b.constant_value(value)
        if array is not None and array.dtype != object:
            return aside.constant(array)
        return aside.input("x", value.kind)

    around: dict[ir.Value, GraphValue | None] = {}
    for value in _free_values(graph):
        try:
            around[value] = stand_in(replay.value(value, env))
        except KeyError:
            return False
    inner = replay.like(aside)
    try:
        results = write(inner, (around, [stand_in(v) for v in inputs]))
    except (NotKnownError, OnnxwrightError, UnknownError, KeyError, ValueError, AttributeError):
        return False
    nodes, size = _left(aside, [v for v in results if v is not None])
    before = 1 + sum(1 for n in all_nodes(graph) if not _is_free(n))
    return nodes <= before and size <= MOST_BYTES


def _is_free(node: ir.Node) -> bool:
    return not node.domain and node.op_type in ("Constant", "Identity")


def _free_values(graph: ir.Graph) -> list[ir.Value]:
    """The values from around that a body reads."""
    defined = {*graph.inputs, *graph.initializers.values()}
    values: dict[ir.Value, None] = {}
    inside = [graph]
    while inside:
        one = inside.pop()
        defined.update(one.inputs)
        for node in one:
            defined.update(node.outputs)
            inside += subgraphs(node)
    for node in all_nodes(graph):
        values.update(dict.fromkeys(v for v in node.inputs if v is not None and v not in defined))
        for inner in subgraphs(node):
            values.update(dict.fromkeys(v for v in inner.outputs if v not in defined))
    values.update(dict.fromkeys(v for v in graph.outputs if v not in defined))
    return list(values)


def _left(aside: GraphBackend, values: Sequence[GraphValue]) -> tuple[int, int]:
    """How many nodes results need, and how many bytes of constants."""
    nodes: dict[ir.Node, None] = {}
    constants: dict[ir.Value, int] = {}
    waiting: list[ir.Value | None] = [v.value for v in values]
    while waiting:
        value = waiting.pop()
        node = None if value is None else value.producer()
        if value is not None and node is None and value in aside.pool:
            array = aside.constant_value(aside.wrap(value, None))
            constants[value] = 0 if array is None else array.nbytes
        if node is None or node in nodes:
            continue
        nodes[node] = None
        waiting += node.inputs
        for graph in subgraphs(node):
            for inner in all_nodes(graph):
                nodes[inner] = None
                waiting += inner.inputs
    return len(nodes), sum(constants.values())


def known_iterations(b: GraphBackend, inputs: Sequence[GraphValue | None]) -> int | None:
    """How often the body of a Loop runs, unless its condition ends it before.

    Args:
        inputs: the inputs of the Loop: the trip count, the condition and the carried values.

    Returns:
        The number, 0 where it surely never runs; None where it is not known.
    """
    limit, condition = ([*inputs, None, None])[:2]
    count = None if limit is None else _number(b, limit)
    going = True if condition is None else _number(b, condition)
    if (count is not None and count <= 0) or (going is not None and not going):
        return 0
    return count if going else None


def first_row(b: GraphBackend, value: GraphValue) -> GraphValue:
    """What one iteration stacks: its value with an axis of length 1 in front.

    Args:
        value: what the body gives.
    """
    if b.opset.version < 13:
        return b.standard("Unsqueeze", [value], {"axes": [0]})
    return b.standard("Unsqueeze", [value, b.constant(np.array([0], np.int64))])


def _number(b: GraphBackend, value: GraphValue) -> int | None:
    """The number that a constant of one element holds."""
    array = b.constant_value(value)
    return None if array is None or array.size != 1 else int(array.item())
