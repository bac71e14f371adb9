"""Calls of higher-order operators whose parts were traced before."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch.fx import traceback as fx_traceback
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, track_tensor_tree
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.graphs.regions import SYMBOLS, fake_mode, tracer
from onnxwright.exporter.capture.graphs.writes import covered, graphs_of
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.torch_internals import int_oo, pytree


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
    proxy_args = pytree.tree_map(t.unwrap_proxy, tuple(args))
    proxy_args = (*proxy_args[:-1], _without_repeats(proxy_args[-1], modules.values()))
    proxy = t.create_proxy("call_function", op, proxy_args, {}, name=op._name)
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


# -- sizes of tensors that have one of two shapes, and sizes that are known at run time only -------


def merged_sizes(
    one: Sequence[Any],
    two: Sequence[Any],
    replacements: Sequence[dict[Any, Any]] = ({}, {}),
) -> list[Any]:
    """The sizes of a tensor that has one of two shapes; known at run time where they differ.

    Args:
        one, two: the shapes.
        replacements: what sizes are where the tensor has each of them.
    """
    return [_merged_size(a, b, replacements) for a, b in zip(one, two)]


def _merged_size(one: Any, two: Any, replacements: Sequence[dict[Any, Any]]) -> Any:
    for size, other, there in ((one, two, replacements[1]), (two, one, replacements[0])):
        # A size of one side is that of the other, too, by what holds there.
        if there and isinstance(size, torch.SymInt) and _by(size, there) == _by(other, there):
            if are_known(free_unbacked_symbols(size)):
                return size
    session = current()
    if session is not None and session.sizes is not None:
        merged = session.sizes.merged(one, two)
        if merged is not None:
            return merged
    symbols = [s for s in (one, two) if isinstance(s, torch.SymInt)]
    exprs = [s.node.expr if isinstance(s, torch.SymInt) else s for s in (one, two)]
    free = {u for s in symbols for u in free_unbacked_symbols(s)}
    if exprs[0] == exprs[1] and are_known(free):
        return one
    least = min(_least(one), _least(two))
    # PyTorch takes a size of 0 or 1 for 1.
    return new_size(least, int_oo if symbols or not least else max(one, two))


def _least(size: Any) -> int:
    """A bound of a size from below."""
    if not isinstance(size, torch.SymInt):
        return int(size)
    least = fake_mode().shape_env.bound_sympy(size.node.expr).lower
    return max(int(least), 0) if least.is_Integer else 0


def new_size(least: int = 0, most: Any = int_oo) -> Any:
    """A size that is known at run time only, between bounds."""
    env = fake_mode().shape_env
    with disable_proxy_modes_tracing():
        size = env.create_unbacked_symint()
        env.constrain_symbol_range(size.node.expr, least, most)
    return size


def _by(size: Any, replacements: dict[Any, Any]) -> Any:
    return size.node.expr.subs(replacements) if isinstance(size, torch.SymInt) else size


def are_known(symbols: set[Any]) -> bool:
    """Whether tensors of the trace have all of some sizes that are known at run time."""
    return not symbols or symbols <= known_symbols()


def known_symbols() -> set[Any]:
    """The sizes known at run time that tensors of the trace have."""
    return {u for x in tracer().tensor_tracker for u in free_unbacked_symbols(x)}
