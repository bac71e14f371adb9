"""Fold nodes whose inputs are all weights: what they compute becomes an initializer.

Weights that a model only wants in another form (the gates of an LSTM in another order, `1 + w`,
`-exp(w)`) take no node and no time at run time.  Where weights are needed as they are, too, they
are not written a second time in another form; products are, up to a limit of bytes, since they take
time at each run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir.nested import all_nodes
from onnxwright.ir.serialize import node_to_proto
from onnxwright.operators import ALWAYS, NEVER, facts
from onnxwright.optimizer.fold_trials import Trials, run_nodes
from onnxwright.optimizer.weight_sources import (
    Derived,
    Names,
    WeightSource,
    combined,
    drop_unused,
    is_fixed,
)

# Bytes that a group of nodes may add to the model, if no weight stays that it reads.
FOLD_LIMIT = 256 * 1024
# Arrays of at most so many bytes do not tie groups together.
_SMALL = 1024
# What rules make of weights in bodies: none of these refuses values of the types it has.
_SAFE = ("Transpose", "Concat", "MatMul")


def fold_constants(
    model: ir.Model,
    fixed: frozenset[str] = frozenset(),
    *,
    limit: int = FOLD_LIMIT,
    exact: bool = False,
    numbers: bool = False,
) -> bool:
    """Let initializers take the place of what is computed from initializers alone.

    Nodes of bodies are folded as well, into initializers of the main graph, which bodies see.

    Args:
        model: the model; it is changed.
        fixed: names of initializers that stay what they are.
        limit: bytes that a group of nodes may add to the model.
        exact: fold only what moves elements: its result is the same bits on every machine.
        numbers: whether one number that is computed of others counts as a constant: integers that
            are made of it are folded, too, as sizes that a factor was applied to.

    Returns:
        Whether there was something to fold.
    """
    graph = model.graph
    trials = Trials(graph.opset_imports.get("", 1))
    frozen: dict[ir.Node, None] = {}
    for node in all_nodes(graph):
        if node.graph is not graph and _may_fail(node):
            continue  # a body need not run
        if _is_frozen(node, frozen, fixed, numbers=numbers) and (not exact or _moves(node)):
            if not trials.refused(node):
                frozen[node] = None
    if not frozen:
        return False
    names = Names(graph)
    for group in _groups(list(frozen)):
        results = _results(group)
        if results is not None and _is_worth_it(group, results, limit):
            _replace(names, model, group, results)
    return True


def _may_fail(node: ir.Node) -> bool:
    """Whether a node may refuse what it is given: indices out of range, other sizes."""
    return node.op_type not in _SAFE and not facts(node.op_type, node.domain).elementwise


def _is_frozen(
    node: ir.Node, frozen: dict[ir.Node, None], fixed: frozenset[str], *, numbers: bool
) -> bool:
    for value in node.inputs:
        if value is None or value.producer() in frozen:
            continue
        if not is_fixed(value) or value.name in fixed:
            return False
    record = facts(node.op_type, node.domain)
    is_number = numbers and record.elementwise and record.folding is not NEVER and _is_number(node)
    if record.folding is not ALWAYS and not is_number:
        return False
    if not any(node.inputs):
        return False
    if any(_bytes(output) is None for output in node.outputs) or _widens(node):
        return False
    return is_number or not _decides(node)


def _is_number(node: ir.Node) -> bool:
    """Whether a node makes one number of others: a size that is computed, no weight."""
    return all(_elements(v) == 1 for v in (*node.inputs, *node.outputs) if v is not None)


def _elements(value: ir.Value) -> int | None:
    """How many elements a value has; None where that is not known."""
    sizes = [size for size in value.shape or () if isinstance(size, int)]
    is_known = value.shape is not None and len(sizes) == len(value.shape)
    return math.prod(sizes) if is_known else None


def _moves(node: ir.Node) -> bool:
    return facts(node.op_type, node.domain).moves_data


def _decides(node: ir.Node) -> bool:
    """Whether integers or truth values are made of floats: what is trained would be lost."""
    dtype = node.outputs[0].dtype
    return (
        dtype is not None
        and not dtype.is_floating_point()
        and any(v is not None and v.dtype is not None and v.dtype.is_floating_point()
                for v in node.inputs)
    )  # fmt: skip


def _widens(node: ir.Node) -> bool:
    """Whether a node makes weights of half precision larger, which are stored as they are."""
    value, output = node.inputs[0], node.outputs[0]
    if node.op_type != "Cast" or value is None:
        return False
    return (_bytes(output) or 0) > max(_bytes(value) or 0, _SMALL)


_WITHOUT_SIZE = (None, ir.DataType.STRING, ir.DataType.UNDEFINED)


def _bytes(value: ir.Value) -> int | None:
    """The bytes of a value; None where its size is not known, or its elements have none."""
    count = _elements(value)
    if count is None or value.dtype in _WITHOUT_SIZE:
        return None
    return math.ceil(count * value.dtype.itemsize)


def _groups(nodes: list[ir.Node]) -> list[list[ir.Node]]:
    """Nodes that share a value, small initializers aside, each group in the order of the graph."""
    parent = {node: node for node in nodes}

    def root(node: ir.Node) -> ir.Node:
        while parent[node] is not node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    readers: dict[ir.Value, ir.Node] = {}
    for node in nodes:
        for value in node.inputs:
            if value is None:
                continue
            maker = value.producer()
            other = maker
            if maker is None and value.const_value is not None:
                if value.const_value.nbytes <= _SMALL:
                    continue
                other = readers.setdefault(value, node)
            if other in parent:
                parent[root(node)] = root(other)
    groups: dict[ir.Node, list[ir.Node]] = {}
    for node in nodes:
        groups.setdefault(root(node), []).append(node)
    return list(groups.values())


def _results(group: Sequence[ir.Node]) -> list[ir.Value] | None:
    """The values of a group that others read; None where one is a result of the model."""
    inside = set(group)
    results = []
    for node in group:
        for value in node.outputs:
            if value.is_graph_output():
                return None
            if any(use.node not in inside for use in value.uses()):
                results.append(value)
    return results


def _is_worth_it(group: Sequence[ir.Node], results: Sequence[ir.Value], limit: int) -> bool:
    """Whether the model stays as small as it is, if the results are initializers."""
    inside = set(group)
    products = any(facts(node.op_type, node.domain).heavy for node in group)
    growth = sum(_bytes(value) or 0 for value in results)
    slack = limit
    for value in {v: None for node in group for v in node.inputs if v is not None}:
        tensor: Any = value.const_value
        if tensor is None:
            continue
        if value.is_graph_output() or any(use.node not in inside for use in value.uses()):
            # Another form of a weight is not worth a second copy; a product saved at each run is.
            slack = 0 if _is_weight(tensor) and not products else slack
        else:
            growth -= tensor.nbytes
    return growth <= slack


def _replace(
    names: Names, model: ir.Model, group: Sequence[ir.Node], results: Sequence[ir.Value]
) -> None:
    version = model.graph.opset_imports.get("", 1)
    read = list({v: None for node in group for v in node.inputs if v is not None})
    for value in results:
        cone, inputs = _cone(value, set(group))
        tensor = _weight_source(value, cone, inputs, version)
        first = max(inputs, key=_importance)
        new = names.add(f"{first.name}.folded", tensor, described=bool(first.metadata_props))
        ir.convenience.replace_all_uses_with(value, new)
    for node in reversed(group):
        assert node.graph is not None
        node.graph.remove(node, safe=True)
    drop_unused([v for v in read if v.is_initializer()])


def _importance(value: ir.Value) -> tuple[bool, int]:
    """Weights before constants, and the larger before the smaller."""
    tensor: Any = value.const_value
    return _is_weight(tensor), tensor.nbytes


def _is_weight(tensor: Any) -> bool:
    """Whether a tensor is of the module, not a constant of the program."""
    return type(tensor) is not ir.Tensor


def _cone(value: ir.Value, inside: set[ir.Node]) -> tuple[list[ir.Node], list[ir.Value]]:
    """The nodes that make a value, in order, and the initializers they read."""
    nodes: dict[ir.Node, None] = {}
    inputs: dict[ir.Value, None] = {}
    waiting: list[tuple[ir.Node, bool]] = [(value.producer(), False)]  # type: ignore[list-item]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            nodes[node] = None
            continue
        if node in nodes:
            continue
        waiting.append((node, True))
        for one in node.inputs:
            if one is None:
                continue
            maker = one.producer()
            if maker in inside:
                waiting.append((maker, False))
            else:
                inputs[one] = None
    return list(nodes), list(inputs)


def _weight_source(
    value: ir.Value, cone: Sequence[ir.Node], inputs: Sequence[ir.Value], version: int
) -> WeightSource:
    assert value.dtype is not None
    assert value.shape is not None
    dtype, shape = value.dtype, [d for d in value.shape if isinstance(d, int)]
    feeds = [str(v.name) for v in inputs]
    nodes = [node_to_proto(node) for node in cone]
    output = str(value.name)

    def compute(arrays: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        return run_nodes(nodes, dict(zip(feeds, arrays, strict=True)), [output], version)[0]

    return combined(inputs, lambda tensors: Derived(compute, tensors, dtype, shape))
