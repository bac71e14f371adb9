"""Graphs that write in place, as graphs that compute new values.

`x.add_(1)` becomes `x + 1`, which is `x` afterwards; a write to `x[0]` becomes `select_scatter`,
one to `x.transpose(0, 1)` a transposed result.  What is left undone is a write through any other
view, or to a tensor of which another view is read afterwards: torch makes such graphs functional.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

aten = torch.ops.aten
_SCATTERS = {
    aten.select.int: aten.select_scatter.default,
    aten.slice.Tensor: aten.slice_scatter.default,
}
# Views of all elements -> what undoes them.
_INVERSES = {
    aten.transpose.int: aten.transpose.int,
    aten.t.default: aten.t.default,
    aten.unsqueeze.default: aten.squeeze.dim,
    aten.detach.default: aten.alias.default,
    aten.alias.default: aten.alias.default,
}
_RESHAPES = (aten.view.default, aten.reshape.default, aten._unsafe_view.default)
# Operators that may give their argument itself.
_MAY_BE_VIEWS = ("aten::contiguous", "aten::reshape", "aten::to", "aten::expand_as")


def written_arguments(node: fx.Node) -> list[fx.Node]:
    """The arguments that an operator writes to."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return []
    found: list[fx.Node] = []
    for n, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = node.args[n] if n < len(node.args) else node.kwargs.get(argument.name)
        items = value if isinstance(value, (list, tuple)) else [value]
        found += [item for item in items if isinstance(item, fx.Node)]
    return found


def viewed(node: fx.Node) -> fx.Node | None:
    """What a node is a view of, or the same tensor as; None if it has memory of its own."""
    of: Any = node
    place: Any = 0
    args: Any = node.args
    if getattr(node.target, "__name__", "") == "getitem" and isinstance(args[0], fx.Node):
        of, place = args
        returns: Any = getattr(getattr(of.target, "_schema", None), "returns", ())
        if len(returns) == 1 and returns[0].alias_info is not None:
            found: fx.Node = of
            return found  # an item of a list of views
    schema = getattr(of.target, "_schema", None)
    if schema is None or not isinstance(place, int) or place >= len(schema.returns):
        return None
    result = schema.returns[place].alias_info
    if result is None:
        first: Any = of.args[:1] if schema.name in _MAY_BE_VIEWS else ()
        return first[0] if first and isinstance(first[0], fx.Node) else None
    for n, argument in enumerate(schema.arguments):
        shared = argument.alias_info is not None and argument.alias_info.before_set
        if shared and (shared & result.before_set or not result.before_set):
            value = of.args[n] if n < len(of.args) else of.kwargs.get(argument.name)
            return value if isinstance(value, fx.Node) else None
    return None


def base_of(node: fx.Node) -> fx.Node:
    """The node that has the memory of one."""
    while (of := viewed(node)) is not None:
        node = of
    return node


def writes(module: fx.GraphModule) -> bool:
    """Whether an operator of a module writes in place, or one of those inside of it."""
    inner = [m for m in module.modules() if isinstance(m, fx.GraphModule)]
    return any(written_arguments(node) for m in inner for node in m.graph.nodes)


def functional(module: fx.GraphModule) -> fx.GraphModule | None:
    """A module that computes the same without writing.

    Returns:
        It, or the module itself if it does not write; None where that is not possible.
    """
    if not writes(module):
        return module
    if any(writes(m) for m in module.children() if isinstance(m, fx.GraphModule)):
        return None
    found = _Functional(module.graph)
    return fx.GraphModule(module, found.made) if found.run() else None


class _Functional:
    """The new graph of one, in the making."""

    def __init__(self, graph: fx.Graph) -> None:
        self.graph, self.made = graph, fx.Graph()
        # Nodes of the graph -> those that have their values now.
        self.now: dict[fx.Node, fx.Node] = {}
        # Values written through a view -> the view, and the node of the graph that it is of.
        self.views: dict[fx.Node, tuple[fx.Node, fx.Node]] = {}
        # What is not a view gets a new value; operators that may return views compute some of them.
        self.roots: set[fx.Node] = set()
        self.order = {node: n for n, node in enumerate(graph.nodes)}

    def run(self) -> bool:
        """Copy the graph; whether all writes are gone."""
        for node in self.graph.nodes:
            written = written_arguments(node)
            if not written:
                self.now[node] = self.made.node_copy(node, lambda n: self.now[n])
            elif len(written) > 1 or written[0] is not node.args[0] or not self._write(node):
                if node.target is not aten.detach_.default:
                    return False
                self.now[node] = self.now[node.args[0]]  # of `torch.tensor`, which writes no value
        return True

    def _write(self, node: fx.Node) -> bool:
        """Compute the new value of what a node writes to; whether that is possible."""
        name, overload = node.target._schema.name, node.target._overloadname
        packet = getattr(aten, name.removeprefix("aten::").removesuffix("_"), None)
        target = self._view_of_now(self.now[node.args[0]])
        if packet is None or not name.endswith("_") or overload not in packet.overloads():
            return False
        chain = [target]
        while (base := self._base(chain[-1])) is not None:
            if not any(chain[-1].target in kind for kind in (_SCATTERS, _INVERSES, _RESHAPES)):
                return False
            chain.append(base)
        if chain[-1].op != "call_function" or self._is_read_otherwise(node, chain):
            return False
        value = self._value(node, getattr(packet, overload), target)
        homes = {made: key for key, made in self.now.items()}
        for old, base in zip(chain, [*chain[1:], None]):
            self._replace(old, value)
            if base is None:
                self.roots.add(value)
            else:
                self.views[value] = old, homes[base]
                if old.target in _RESHAPES:
                    value = self._call(aten.reshape_as.default, (value, base), {}, base)
                    continue
                if old.target in _INVERSES:
                    value = self._call(_INVERSES[old.target], (value, *old.args[1:]), {}, base)
                    continue
                scatter = _SCATTERS[old.target]
                value = self._call(scatter, (base, value, *old.args[1:]), dict(old.kwargs), base)
        self.now[node] = self.now[node.args[0]]
        return True

    def _view_of_now(self, value: fx.Node) -> fx.Node:
        """What was written through a view, as a view of what that is of: it is written again."""
        if value not in self.views:
            return value
        view, home = self.views[value]
        base = self._view_of_now(self.now[home])
        made = self._call(view.target, (base, *view.args[1:]), dict(view.kwargs), view)
        self._replace(value, made)
        return made

    def _value(self, node: fx.Node, op: Any, target: fx.Node) -> fx.Node:
        """The value that a node writes, in the type of what it is written to."""
        args = fx.map_arg(node.args, lambda n: self.now[n])
        kwargs = fx.map_arg(node.kwargs, lambda n: self.now[n])
        made = self._call(op, args, kwargs, target)
        kept = target.meta["val"].dtype
        examples = fx.map_arg((args, kwargs), lambda n: n.meta["val"])
        with disable_proxy_modes_tracing():
            made.meta["val"] = op(*examples[0], **examples[1])
        if made.meta["val"].dtype == kept:
            return made
        return self._call(aten.to.dtype, (made, kept), {}, target)

    def _call(self, op: Any, args: Any, kwargs: Any, like: fx.Node) -> fx.Node:
        node = self.made.call_function(op, args, kwargs)
        node.meta = {k: v for k, v in like.meta.items() if k in ("val", "stack_trace")}
        return node

    def _replace(self, old: fx.Node, new: fx.Node) -> None:
        for key, value in self.now.items():
            if value is old:
                self.now[key] = new

    def _is_read_otherwise(self, node: fx.Node, chain: list[fx.Node]) -> bool:
        """Whether other views of what is written to are read afterwards."""
        for before, made in self.now.items():
            if made in chain or self._root(made) is not chain[-1]:
                continue
            if any(self.order[user] > self.order[node] for user in before.users):
                return True
        return False

    def _root(self, node: fx.Node) -> fx.Node:
        """What has the memory of a node."""
        while True:
            base = self.now[self.views[node][1]] if node in self.views else self._base(node)
            if base is None:
                return node
            node = base

    def _base(self, node: fx.Node) -> fx.Node | None:
        """What a node of the new graph is a view of."""
        return None if node in self.roots else viewed(node)
