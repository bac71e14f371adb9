"""Functions of a model: names, recursion, and how many nodes all calls together expand to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

import onnx

from onnxwright.ir.proto_graphs import nodes_of
from onnxwright.ir.validation.damage import Damage, quoted

EXPANDED_LIMIT = 2_000_000
"""The most nodes that a model may have once every call of a function is replaced by its body."""

STEPS_LIMIT = 100_000
"""The most nodes that calls may expand to in a run node by node, whose nodes are Python calls."""

CALL_DEPTH = 100
"""The most functions that may be in each other's bodies, one calling the next."""

Key = tuple[str, str, str]


def called(nodes: Sequence[onnx.NodeProto]) -> Iterator[Key]:
    """What nodes call, those of subgraphs included: domain, name and overload."""
    for node in nodes_of(nodes):
        yield node.domain, node.op_type, node.overload


def check_functions(functions: Sequence[onnx.FunctionProto], main: onnx.GraphProto | None) -> None:
    """Refuse functions that call each other in a cycle, or that expand to too many nodes.

    Args:
        main: the main graph; None for a function on its own.

    Raises:
        Damage: they do.
    """
    by_key: dict[Key, onnx.FunctionProto] = {}
    for f in functions:
        key = (f.domain, f.name, f.overload)
        if key in by_key:
            raise Damage("structure", f"function {quoted(f.name)}", "it is defined twice")
        by_key[key] = f
    calls = {key: [k for k in called(f.node) if k in by_key] for key, f in by_key.items()}
    try:
        order = list(TopologicalSorter({k: set(v) for k, v in calls.items()}).static_order())
    except CycleError as error:
        names = " -> ".join(quoted(key[1]) for key in error.args[1])
        where = f"function {quoted(error.args[1][0][1])}"
        raise Damage("structure", where, f"functions call each other in a cycle: {names}") from None
    size: dict[Key, int] = {}
    depth: dict[Key, int] = {}
    for key in order:
        inner = calls[key]
        size[key] = sum(1 for _ in called(by_key[key].node)) + sum(size[k] for k in inner)
        depth[key] = 1 + max((depth[k] for k in inner), default=0)
        where = f"function {quoted(key[1])}"
        _check_size(size[key], where)
        if depth[key] > CALL_DEPTH:
            what = f"it calls functions {depth[key]} deep, more than {CALL_DEPTH}"
            raise Damage("limit", where, what, "inline some of the functions")
    if main is not None and size:
        total = sum(1 + size.get(key, 0) for key in called(main.node))
        _check_size(total, f"graph {quoted(main.name)}")


def expanded_calls(model: onnx.ModelProto) -> int:
    """How many calls of functions there are once every call is replaced by the function's body.

    Args:
        model: a model whose functions do not call each other in a cycle.
    """
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    calls = {key: [k for k in called(f.node) if k in functions] for key, f in functions.items()}
    count: dict[Key, int] = {}
    for key in TopologicalSorter({k: set(v) for k, v in calls.items()}).static_order():
        count[key] = 1 + sum(count[k] for k in calls[key])
    return sum(count.get(key, 0) for key in called(model.graph.node))


def check_steps(model: onnx.ModelProto) -> None:
    """Refuse a model whose calls of functions expand to too many nodes to run one by one.

    Args:
        model: a model whose functions do not call each other in a cycle.

    Raises:
        Damage: they do.
    """
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    calls = {key: list(called(f.node)) for key, f in functions.items()}
    order = TopologicalSorter({k: {c for c in v if c in functions} for k, v in calls.items()})
    size: dict[Key, int] = {}
    for key in order.static_order():
        size[key] = len(calls[key]) + sum(size.get(k, 0) for k in calls[key])
    count = sum(size.get(key, 0) for key in called(model.graph.node))
    if count > STEPS_LIMIT:
        what = (
            f"its calls of functions expand to {count:,} nodes, "
            f"and at most {STEPS_LIMIT:,} are run node by node"
        )
        where = f"graph {quoted(model.graph.name)}"
        raise Damage("limit", where, what, "run it whole (`run_model`), or extract a part of it")


def _check_size(count: int, where: str) -> None:
    if count > EXPANDED_LIMIT:
        shown = f"{count:,}" if count < 1 << 60 else "more than 10**18"
        what = f"its calls of functions expand to {shown} nodes, more than {EXPANDED_LIMIT:,}"
        raise Damage("limit", where, what, "call the functions fewer times: no runtime runs this")
