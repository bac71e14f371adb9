"""Parts of a graph under construction, taken out of it as graphs of their own.

A branch is run where it stands: what it computes is appended to the graph that torch traces.  Then
its nodes are moved to a new graph, in which what it read from before is a placeholder, and what
torch remembers of tensors and sizes is as before the branch.  Nothing has to be known of where a
value came from: parameters, closures, globals, attributes are all nodes from before.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import (
    disable_proxy_modes_tracing,
    get_proxy_mode,
    track_tensor_tree,
)
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._sympy.numbers import int_oo
from typing_extensions import Self

from onnxwright.exporter.capture import number_forms
from onnxwright.exporter.capture.source.chosen_tensors import (
    LeftBehind,
    base_of,
    check_chosen_tensors,
    check_not_written,
)
from onnxwright.exporter.capture.source.errors import SharedWriteError
from onnxwright.exporter.capture.source.facts import Facts
from onnxwright.exporter.capture.source.functional import viewed, written_arguments
from onnxwright.exporter.capture.source.session import current

aten = torch.ops.aten
SYMBOLS = number_forms.SYMBOLS

# Operators of sizes: they are computed before a branch, for the code after it may read them too.
_SIZES = frozenset(
    (aten.sym_size.int, aten.sym_stride.int, aten.sym_numel.default,
     aten.sym_storage_offset.default, torch.sym_not, torch.sym_float, torch.sym_int, torch.sym_max,
     torch.sym_min, torch.sym_ite)
)  # fmt: skip


def tracer() -> Any:
    """What traces now; None outside a trace."""
    mode = get_proxy_mode()
    return None if mode is None else mode.tracer


@dataclass
class Part:
    """A graph that was part of another.

    Fields:
        graph: the graph, without an output.
        read: nodes of the other graph that it reads -> its placeholders.
        values: what tensors, by identity, are in the graph.
        known: what sizes are where the part runs.
        written: nodes of the other graph that it writes to -> the copies that it writes to.
        left: what its choices of tensors mean for the other graph.
    """

    graph: fx.Graph
    read: dict[fx.Node, fx.Node]
    values: dict[int, fx.Node]
    written: dict[fx.Node, fx.Node] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    known: dict[Any, Any] = field(default_factory=dict)
    left: LeftBehind = field(default_factory=LeftBehind)

    def placeholder(self, outer: fx.Node) -> fx.Node:
        """What stands for a node of the other graph."""
        if outer not in self.read:
            first = next(iter(self.graph.nodes), None)
            place = self.graph.inserting_before(first) if first is not None else None
            if place is None:
                self.read[outer] = self.graph.placeholder(f"operand_{len(self.read)}")
            else:
                with place:
                    self.read[outer] = self.graph.placeholder(f"operand_{len(self.read)}")
        self.read[outer].meta["val"] = outer.meta.get("val")
        return self.written.get(outer) or self.read[outer]

    def give_outer(self, values: Iterable[Any], tracer: Any) -> None:
        """Have the part give values of before it, as they are.

        Args:
            values: tensors and symbolic numbers.
            tracer: what traces the graph around the part.
        """
        for value in values:
            if id(value) not in self.values:
                outer = node_for(tracer, value)
                check_not_written(outer, self.written)
                self.values[id(value)] = self.placeholder(outer)
                self.kept.append(value)
                self.left.sources[id(value)] = (outer,)

    def module(self, operands: Sequence[fx.Node], outputs: Sequence[fx.Node]) -> fx.GraphModule:
        """The part as a function of operands.

        Args:
            operands: nodes of the other graph.
            outputs: nodes of this one.

        Returns:
            A module that gives the outputs as a tuple.
        """
        made = fx.Graph()
        known: dict[fx.Node, fx.Node] = {}
        for n, outer in enumerate(operands):
            place = made.placeholder(f"operand_{n}")
            place.meta["val"] = outer.meta.get("val")
            if outer in self.read:
                known[self.read[outer]] = place
        made.graph_copy(self.graph, known)
        made.output(tuple(known[n] for n in outputs))
        made.lint()
        return fx.GraphModule(tracer().root, made)


_now = threading.local()


def depth() -> int:
    """How many regions are open in this thread: branches and bodies that are traced."""
    return getattr(_now, "depth", 0)


class Region:
    """While it is open, what is traced belongs to it."""

    def __init__(self) -> None:
        self.tracer = tracer()
        self.given: list[fx.Node] = []
        self.closed = False

    def __enter__(self) -> Self:
        t = self.tracer
        _now.depth = depth() + 1
        self.mark = next(iter(reversed(t.graph.nodes)))
        self.tensors = list(t.tensor_tracker.items())
        self.symbols = dict(t.symnode_tracker.sym_node_dict)
        self.expressions = dict(t.sympy_expr_tracker)
        self.facts = Facts(fake_mode().shape_env)
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        _now.depth = depth() - 1
        if kind is not None and not self.closed:
            # What failed leaves nothing behind but sizes: torch remembers their nodes.
            for node in reversed(self._without_sizes(self.nodes())):
                self.tracer.graph.erase_node(node)
            self._restore()

    def input(self, made: torch.Tensor) -> None:
        """Make a tensor that was made inside a placeholder; nothing is known of its values."""
        if getattr(made, "constant", None) is not None:
            made.constant = None
        proxy = self.tracer.tensor_tracker[made]
        if proxy.constant is not None:
            self.tracer.tensor_tracker[made] = type(proxy)(proxy.proxy, None)
        self.given.append(proxy.proxy.node)

    def new_input(self, sizes: Sequence[Any], dtype: torch.dtype) -> Any:
        """A tensor of any sizes that is a placeholder."""
        proxy = self.tracer.create_proxy("call_function", aten.empty.memory_format, ([0],), {})
        made = track_tensor_tree(empty(sizes, dtype), proxy, constant=None, tracer=self.tracer)
        self.given.append(proxy.node)
        return made

    def nodes(self) -> list[fx.Node]:
        """The nodes of the region, in order."""
        region: list[fx.Node] = []
        node = self.mark.next
        while node.op != "root":
            region.append(node)
            node = node.next
        return region

    def close(self, values: Iterable[Any]) -> Part:
        """Take the nodes out of the graph.

        Args:
            values: tensors and numbers that the part is to give.

        Returns:
            The part.
        """
        values = list(values)
        nodes = {id(v): node_for(self.tracer, v) for v in values}
        shared = self._shared_constants()
        mine = [node for node in self.nodes() if node not in shared]
        left = check_chosen_tensors(mine, nodes)
        region = self._without_sizes(mine)
        part = self._moved(region, nodes, self.given)
        part.kept, part.left = values, left
        for node in reversed(region):
            self.tracer.graph.erase_node(node)
        self._restore()
        self.closed = True
        return part

    def _shared_constants(self) -> set[fx.Node]:
        """Tensors of the model that are written to, and are named for the first time here.

        They are nodes of the graph around this one, which reads what is written: one for each.
        """
        named = [n for n in self.nodes() if n.op == "get_attr" and "val" in n.meta]
        if not named:
            return set()
        every = [n for node in self.tracer.graph.nodes for n in written_arguments(node)]
        written = {base.target for n in every if (base := base_of(n)).op == "get_attr"}
        first: dict[Any, fx.Node] = {}
        for node in (n for n in named if n.target in written):
            if first.setdefault(node.target, node) is not node:
                node.replace_all_uses_with(first[node.target])
                self.tracer.graph.erase_node(node)
        for target, node in first.items():
            kind = type(self.tensors[0][1])
            value = getattr(self.tracer.root, target)
            self.tensors.append((value, kind(fx.Proxy(node, self.tracer), None)))
        return set(first.values())

    def knows_before(self, value: torch.Tensor) -> bool:
        """Whether a tensor was traced before the region."""
        return any(value is one for one, _ in self.tensors)

    def discard(self) -> None:
        """Take the nodes out of the graph, for nothing."""
        self.close(())

    def _without_sizes(self, region: list[fx.Node]) -> list[fx.Node]:
        """The nodes that are not computed from sizes of before alone."""
        inside: dict[fx.Node, None] = {}
        for node in region:
            sized = node.target in _SIZES or getattr(node.target, "__module__", "") in (
                operator.__name__, "_operator", math.__name__,
            )  # fmt: skip
            symbolic = isinstance(node.meta.get("val"), SYMBOLS)
            if not (sized and symbolic) or any(n in inside for n in node.all_input_nodes):
                inside[node] = None
        return list(inside)

    def _moved(
        self, region: list[fx.Node], nodes: dict[int, fx.Node], given: list[fx.Node]
    ) -> Part:
        part = Part(fx.Graph(), {}, {})
        inside = set(region) - set(given)
        # Inputs made inside come first, in their order.
        for node in given:
            part.placeholder(node)
        for node in region:
            for read in node.all_input_nodes:
                if read not in inside and node in inside:
                    part.placeholder(read)
        for node in nodes.values():
            if node not in inside:
                part.placeholder(node)
        self._copy_written(part, [n for n in region if n in inside], inside)
        known: dict[fx.Node, fx.Node] = {**part.read, **part.written}
        for node in region:
            if node in inside:
                known[node] = part.graph.node_copy(node, lambda n: known[n])
        part.values = {key: known[node] for key, node in nodes.items()}
        return part

    def _copy_written(self, part: Part, region: list[fx.Node], inside: set[fx.Node]) -> None:
        """Copies of what the part writes to from outside of it."""
        for node in region:
            for target in written_arguments(node):
                base = target
                while base in inside and viewed(base) is not None:
                    base = viewed(base)
                if base not in inside and base not in part.written:
                    self._check_alone(base, part)
                    copy = part.graph.call_function(aten.clone.default, (part.read[base],))
                    copy.meta["val"] = base.meta.get("val")
                    part.written[base] = copy

    def _check_alone(self, base: fx.Node, part: Part) -> None:
        """No other operand shares the memory of a tensor that is written to."""
        known = {proxy.proxy.node: tensor for tensor, proxy in self.tensors}
        home = _storage(known.get(base))
        for other in part.read:
            where = _storage(known.get(other))
            if home is not None and where is not None:
                is_shared = where == home
            else:  # Python has no tensor of the one any more
                is_shared = base_of(other) is base_of(base)
            if other is not base and is_shared:
                raise SharedWriteError

    def _restore(self) -> None:
        t = self.tracer
        for tensor in [*t.tensor_tracker]:
            del t.tensor_tracker[tensor]
        for tensor, proxy in self.tensors:
            t.tensor_tracker[tensor] = proxy
        t.symnode_tracker.sym_node_dict = self.symbols
        t.sympy_expr_tracker = self.expressions
        self.facts.restore()


def node_for(tracer: Any, value: Any) -> fx.Node:
    """The node of a tensor or number; of one that is not traced, a constant's."""
    found = tracer.unwrap_proxy(value)
    if not isinstance(found, fx.Proxy):
        if isinstance(value, SYMBOLS):
            found = tracer.unwrap_proxy(torch.scalar_tensor(value))
        else:
            found = tracer.unwrap_proxy(value.clone())
    node: fx.Node = found.node
    return node


def is_traced(value: torch.Tensor) -> bool:
    """Whether the graph that is traced now, without parts that were taken out, has a tensor."""
    return tracer().tensor_tracker.get(value) is not None


def live_values(t: Any) -> dict[fx.Node, Any]:
    """The tensors that nodes of a trace stand for."""
    return {proxy.proxy.node: tensor for tensor, proxy in t.tensor_tracker.items()}


def value_of(node: fx.Node) -> Any:
    """A tensor for a node of the trace, which Python may have no tensor of any more.

    Args:
        node: of the graph that is traced, of one tensor.

    Returns:
        The tensor.
    """
    return operand_values([node])[0]


def operand_values(nodes: Sequence[fx.Node]) -> list[Any]:
    """What nodes of the trace stand for, to hand them to an operator.

    Args:
        nodes: of the graph that is traced.

    Returns:
        Tensors and numbers.
    """
    known = live_values(tracer())
    return [known[n] if n in known else _made_again(n) for n in nodes]


def _made_again(node: fx.Node) -> Any:
    """A tensor or number for a node of the trace, which Python may have none of any more."""
    t, found = tracer(), node.meta["val"]
    if not isinstance(found, SYMBOLS):
        found = empty(found.shape, found.dtype)
    elif t.unwrap_proxy(found) is not found:
        return found
    return track_tensor_tree(found, fx.Proxy(node, t), constant=None, tracer=t)


def _storage(value: Any) -> Any:
    """What identifies the memory of a tensor; None for anything else."""
    return value.untyped_storage()._cdata if isinstance(value, torch.Tensor) else None


def empty(sizes: Sequence[Any], dtype: torch.dtype) -> Any:
    """A contiguous tensor without values, which no trace knows."""
    mode = torch._guards.detect_fake_mode() or fake_mode()
    with disable_proxy_modes_tracing(), mode:
        return torch.empty(list(sizes), dtype=dtype)


def fake_mode() -> Any:
    """The mode of the tensors that are traced."""
    return next(x.fake_mode for x in tracer().tensor_tracker if hasattr(x, "fake_mode"))


def merged_sizes(
    one: Sequence[Any],
    two: Sequence[Any],
    known: Sequence[dict[Any, Any]] = ({}, {}),
) -> list[Any]:
    """The sizes of a tensor that has one of two shapes; known at run time where they differ.

    Args:
        one, two: the shapes.
        known: what sizes are where the tensor has each of them.
    """
    return [_merged_size(a, b, known) for a, b in zip(one, two)]


def _merged_size(one: Any, two: Any, known: Sequence[dict[Any, Any]]) -> Any:
    for size, other, there in ((one, two, known[1]), (two, one, known[0])):
        # A size of one side is that of the other, too, by what holds there.
        if there and isinstance(size, torch.SymInt) and _by(size, there) == _by(other, there):
            if are_known(free_unbacked_symbols(size)):
                return size
    session = current()
    if session is not None and session.sizes is not None:
        found = session.sizes.merged(one, two)
        if found is not None:
            return found
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


def _by(size: Any, known: dict[Any, Any]) -> Any:
    return size.node.expr.subs(known) if isinstance(size, torch.SymInt) else size


def are_known(symbols: set[Any]) -> bool:
    """Whether tensors of the trace have all of some sizes that are known at run time."""
    return not symbols or symbols <= known_symbols()


def known_symbols() -> set[Any]:
    """The sizes known at run time that tensors of the trace have."""
    return {u for x in tracer().tensor_tracker for u in free_unbacked_symbols(x)}
