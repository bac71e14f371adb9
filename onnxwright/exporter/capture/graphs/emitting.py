"""Calls of higher-order operators whose parts were traced before."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch.fx import traceback as fx_traceback
from torch.fx.experimental.proxy_tensor import track_tensor_tree

from onnxwright.exporter.capture.graphs.regions import SYMBOLS, fake_mode, tracer
from onnxwright.exporter.capture.graphs.writes import covered, graphs_of
from onnxwright.exporter.torch_internals import pytree


def emit(op: Any, modules: dict[str, fx.GraphModule], args: Sequence[Any], results: Any) -> Any:
    """Add a call of a higher-order operator to the graph; its parts are not traced again.

    Args:
        op: the operator.
        modules: its parts, by what they are called.
        args: its arguments, with the parts among them.
        results: what it gives, as tensors without values.

    Returns:
        The results, as part of the trace.
    """
    args = _with_constants(modules.values(), args)
    if not all(covered(g, local=True) for m in modules.values() for g in graphs_of(m)):
        # Torch traces these parts once more, so that it can make them functional later, and makes
        # sizes of its own for the results.
        fake_mode().shape_env.pending_fresh_unbacked_symbols.clear()
        with fx_traceback.preserve_node_meta():
            return op(*args)
    t = tracer()
    for name, module in modules.items():
        n = 0
        while hasattr(t.root, f"{name}_{n}"):
            n += 1
        t.root.register_module(f"{name}_{n}", module)
    given = pytree.tree_map(t.unwrap_proxy, tuple(args))
    given = (*given[:-1], _without_repeats(given[-1], modules.values()))
    proxy = t.create_proxy("call_function", op, given, {}, name=op._name)
    return track_tensor_tree(results, proxy, constant=None, tracer=t)


def _with_constants(modules: Iterable[fx.GraphModule], args: Sequence[Any]) -> Sequence[Any]:
    """The arguments of a call, with the tensors of the model that its parts name as operands.

    The graph around the call reads the same tensors, and torch names each of them once.
    """
    named: dict[str, Any] = {}
    for module in modules:
        for node in [n for n in module.graph.nodes if n.op == "get_attr" and "val" in n.meta]:
            named[node.target] = node.meta["val"]
    if not named:
        return args
    for module in modules:
        _read_operands(module, named)
    root = tracer().root
    return (*args[:-1], (*args[-1], *(operator.attrgetter(n)(root) for n in named)))


def _read_operands(module: fx.GraphModule, named: Mapping[str, Any]) -> None:
    """Have a part read tensors of the model from further inputs.

    Args:
        module: changed.
        named: the tensors, without values, by their names.
    """
    nodes = list(module.graph.nodes)
    first = next(n for n in nodes if n.op != "placeholder")
    for target, value in named.items():
        with module.graph.inserting_before(first):
            operand = module.graph.placeholder(target.replace(".", "_"))
        operand.meta["val"] = value
        for node in [n for n in nodes if n.op == "get_attr" and n.target == target]:
            node.replace_all_uses_with(operand)
            module.graph.erase_node(node)
            if hasattr(module, target):
                delattr(module, target)
    module.recompile()


def _without_repeats(operands: Sequence[Any], modules: Iterable[fx.GraphModule]) -> Any:
    """The last operands of parts, each once: torch names inputs of parts by them.

    Sizes are once that are equal: torch computes equal sizes once, and passes one twice otherwise.
    """
    first: dict[Any, int] = {}
    places = [first.setdefault(_identity(x), n) for n, x in enumerate(operands)]
    if len(first) == len(operands):
        return operands
    for module in modules:
        inputs = [n for n in module.graph.nodes if n.op == "placeholder"][-len(operands) :]
        for n, place in enumerate(places):
            if place != n:
                inputs[n].replace_all_uses_with(inputs[place])
                module.graph.erase_node(inputs[n])
        module.recompile()
    return tuple(operands[n] for n in first.values())


def _identity(operand: Any) -> Any:
    """What two operands have in common that are one for torch: node, expression, or tensor."""
    node = getattr(operand, "node", operand)
    if isinstance(node, fx.Node) and node.op == "get_attr":
        return id(operator.attrgetter(node.target)(tracer().root))
    if isinstance(operand, torch.Tensor):
        return id(operand)
    value = node.meta.get("val") if isinstance(node, fx.Node) else None
    return (type(value), value.node.expr) if isinstance(value, SYMBOLS) else node
