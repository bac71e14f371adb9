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
from typing_extensions import Self

from onnxwright.exporter.capture.graphs.facts import Facts
from onnxwright.exporter.capture.graphs.memory import NOTHING, Origin, aliases, origin_of
from onnxwright.exporter.capture.graphs.writes import base_of, memory_of, viewed, written_arguments
from onnxwright.exporter.capture.session import number_forms
from onnxwright.exporter.capture.session.errors import SharedWriteError
from onnxwright.exporter.capture.session.session import current

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
        replacements: what sizes are where the part runs.
        written: nodes of the other graph that it writes to -> the copies that it writes to.
        views: other views of these -> the same views of the copies.
        origins: what tensors, by identity, may be.
        own: the memory that the part made.
    """

    graph: fx.Graph
    read: dict[fx.Node, fx.Node]
    values: dict[int, fx.Node]
    written: dict[fx.Node, fx.Node] = field(default_factory=dict)
    views: dict[fx.Node, fx.Node] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    replacements: dict[Any, Any] = field(default_factory=dict)
    origins: dict[int, Origin] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)

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
        return self.written.get(outer) or self.views.get(outer) or self.read[outer]

    def give_outer(self, values: Iterable[Any], tracer: Any) -> None:
        """Have the part give values of before it, as they are.

        Args:
            values: tensors and symbolic numbers.
            tracer: what traces the graph around the part.
        """
        for value in values:
            if id(value) not in self.values:
                outer = node_for(tracer, value)
                self.values[id(value)] = self.placeholder(outer)
                self.kept.append(value)
                if memory_of(outer):
                    origin = self.origins[id(value)] = origin_of(outer)
                    self.give_outer([origin.tag] * isinstance(origin.tag, torch.Tensor), tracer)

    def origin(self, value: Any) -> Origin:
        """What a tensor of the part may be."""
        session = current()
        is_number = session is None or value in session.numbers
        return NOTHING if is_number else self.origins.get(id(value), NOTHING)

    def write_base(self, base: fx.Node) -> None:
        """Have the part write to a tensor what it writes to views of the tensor.

        Args:
            base: a node of the other graph, which is no view.
        """
        for node in [n for n in self.written if n is not base and base_of(n) is base]:
            value = self.written.pop(node)
            self.copy_written(base)
            args = (self.as_view(node, base), value)
            self.graph.call_function(aten.copy_.default, args).meta = dict(value.meta)

    def copy_written(self, node: fx.Node) -> None:
        """Make a copy of a node of the other graph, which the part writes to."""
        if node not in self.written:
            placeholder = self.placeholder(node)
            self.written[node] = self.graph.call_function(aten.clone.default, (placeholder,))
            self.written[node].meta["val"] = node.meta.get("val")

    def as_view(self, node: fx.Node, base: fx.Node) -> fx.Node:
        """A view of a node of the other graph, as the same view of the copy of that node."""
        if node is base:
            return self.written[base]
        if viewed(node) is None:
            return self.placeholder(node)
        return self.graph.node_copy(node, lambda n: self.as_view(n, base))

    def module(self, operands: Sequence[fx.Node], outputs: Sequence[fx.Node]) -> fx.GraphModule:
        """The part as a function of operands.

        Args:
            operands: nodes of the other graph.
            outputs: nodes of this one.

        Returns:
            A module that gives the outputs as a tuple.
        """
        graph = fx.Graph()
        node_map: dict[fx.Node, fx.Node] = {}
        copied = {memory_of(node) for node in self.written}
        for n, outer in enumerate(operands):
            place = graph.placeholder(f"operand_{n}")
            value = outer.meta.get("val")
            # What is written to is the copy, and views of it have its memory.
            place.meta["val"] = _elsewhere(value) if memory_of(outer) in copied else value
            if outer in self.read:
                node_map[self.read[outer]] = place
        graph.graph_copy(self.graph, node_map)
        graph.output(tuple(node_map[n] for n in outputs))
        graph.lint()
        return fx.GraphModule(tracer().root, graph)


_now = threading.local()


def depth() -> int:
    """How many regions are open in this thread: branches and bodies that are traced."""
    return getattr(_now, "depth", 0)


class Region:
    """While it is open, what is traced belongs to it."""

    def __init__(self) -> None:
        self.tracer = tracer()
        self.input_nodes: list[fx.Node] = []
        self.closed = False

    def __enter__(self) -> Self:
        t = self.tracer
        _now.depth = depth() + 1
        self.mark = next(iter(reversed(t.graph.nodes)))
        self.tensors = list(t.tensor_tracker.items())
        self.symbols = dict(t.symnode_tracker.sym_node_dict)
        self.expressions = dict(t.sympy_expr_tracker)
        self.facts = Facts(fake_mode().shape_env)
        self.aliases = list(aliases().every)
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        _now.depth = depth() - 1
        if kind is not None and not self.closed:
            # What failed leaves nothing behind but sizes: torch remembers their nodes.
            for node in reversed(self._without_sizes(self.nodes())):
                self.tracer.graph.erase_node(node)
            self._restore()

    def input(self, tensor: torch.Tensor) -> None:
        """Make a tensor that was made inside a placeholder; nothing is known of its values."""
        if getattr(tensor, "constant", None) is not None:
            tensor.constant = None
        proxy = self.tracer.tensor_tracker[tensor]
        if proxy.constant is not None:
            self.tracer.tensor_tracker[tensor] = type(proxy)(proxy.proxy, None)
        self.input_nodes.append(proxy.proxy.node)

    def new_input(self, sizes: Sequence[Any], dtype: torch.dtype) -> Any:
        """A tensor of any sizes that is a placeholder."""
        proxy = self.tracer.create_proxy("call_function", aten.empty.memory_format, ([0],), {})
        tensor = track_tensor_tree(empty(sizes, dtype), proxy, constant=None, tracer=self.tracer)
        self.input_nodes.append(proxy.node)
        return tensor

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
        shared = self._shared_constants(nodes)
        inside = set(self.nodes()) - shared
        outside = self.memory_before()
        origins = {key: origin_of(node, inside, outside) for key, node in nodes.items()
                   if memory_of(node)}  # fmt: skip
        tags = [one.tag for one in origins.values() if isinstance(one.tag, torch.Tensor)]
        nodes |= {id(tag): node_for(self.tracer, tag) for tag in tags}
        region = self._without_sizes([node for node in self.nodes() if node not in shared])
        part = self._moved(region, nodes, self.input_nodes)
        part.kept, part.origins = [*values, *tags], origins
        part.own = {memory_of(v.node) for one in origins.values() for v in one.views.values()
                    if v.node in inside and not v.is_constant()} - outside  # fmt: skip
        for node in reversed(region):
            self.tracer.graph.erase_node(node)
        self._restore()
        self.closed = True
        return part

    def _shared_constants(self, result_nodes: dict[int, fx.Node]) -> set[fx.Node]:
        """Tensors of the model that are written to or given, and are named for the first time here.

        They are nodes of the graph around this one, which reads what is written: one for each.

        Args:
            result_nodes: the nodes of what the part gives; repeated ones are replaced.
        """
        named = [n for n in self.nodes() if n.op == "get_attr" and "val" in n.meta]
        if not named:
            return set()
        every = [n for node in self.tracer.graph.nodes for n in written_arguments(node)]
        every += [
            *result_nodes.values(),
            *(v.node for a in aliases().every for v in a.origin.views.values()),
        ]
        written = {base.target for n in every if (base := base_of(n)).op == "get_attr"}
        first: dict[Any, fx.Node] = {}
        for node in (n for n in named if n.target in written):
            if first.setdefault(node.target, node) is not node:
                node.replace_all_uses_with(first[node.target])
                result_nodes.update(
                    (k, first[n.target]) for k, n in result_nodes.items() if n is node
                )
                self.tracer.graph.erase_node(node)
        for target, node in first.items():
            kind = type(self.tensors[0][1])
            value = operator.attrgetter(target)(self.tracer.root)
            self.tensors.append((value, kind(fx.Proxy(node, self.tracer), None)))
        return set(first.values())

    def memory_before(self) -> set[int]:
        """The memory of the tensors from before the region."""
        return {memory_of(proxy.proxy.node) for _, proxy in self.tensors}

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
        self, region: list[fx.Node], nodes: dict[int, fx.Node], input_nodes: list[fx.Node]
    ) -> Part:
        part = Part(fx.Graph(), {}, {})
        inside = set(region) - set(input_nodes)
        # Inputs made inside come first, in their order.
        for node in input_nodes:
            part.placeholder(node)
        for node in region:
            for read in node.all_input_nodes:
                if read not in inside and node in inside:
                    part.placeholder(read)
        for node in nodes.values():
            if node not in inside:
                part.placeholder(node)
        self._copy_written(part, [n for n in region if n in inside], inside)
        node_map: dict[fx.Node, fx.Node] = {**part.read, **part.views, **part.written}
        for node in region:
            if node in inside:
                node_map[node] = part.graph.node_copy(node, lambda n: node_map[n])
        part.values = {key: node_map[node] for key, node in nodes.items()}
        return part

    def _copy_written(self, part: Part, region: list[fx.Node], inside: set[fx.Node]) -> None:
        """Copies of what the part writes to from outside of it.

        Raises:
            SharedWriteError: it also reads the same memory, and nobody knows by which view.
        """
        written: dict[fx.Node, None] = {}
        for node in region:
            for target in written_arguments(node):
                base = target
                while base in inside and viewed(base) is not None:
                    base = viewed(base)
                if base not in inside:
                    written[base] = None
        for node in written:
            others = [n for n in part.read if n is not node and memory_of(n) == memory_of(node)]
            base = base_of(node) if others else node
            if any(base_of(other) is not base for other in others):
                raise SharedWriteError
            part.copy_written(base)
            for view in [n for n in (node, *others) if n is not base and n not in part.views]:
                part.views[view] = part.as_view(view, base)

    def _restore(self) -> None:
        t = self.tracer
        for tensor in [*t.tensor_tracker]:
            del t.tensor_tracker[tensor]
        for tensor, proxy in self.tensors:
            t.tensor_tracker[tensor] = proxy
        t.symnode_tracker.sym_node_dict = self.symbols
        t.sympy_expr_tracker = self.expressions
        aliases().every = self.aliases
        self.facts.restore()


def node_for(tracer: Any, value: Any) -> fx.Node:
    """The node of a tensor or number; of one that is not traced, a constant's."""
    proxy = tracer.unwrap_proxy(value)
    if not isinstance(proxy, fx.Proxy):
        if isinstance(value, SYMBOLS):
            proxy = tracer.unwrap_proxy(torch.scalar_tensor(value))
        else:
            proxy = tracer.unwrap_proxy(value.clone())
            (named,) = proxy.node.all_input_nodes  # a tensor of the model
            tracer.graph.erase_node(proxy.node)
            return named
    node: fx.Node = proxy.node
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
    live = live_values(tracer())
    return [live[n] if n in live else _made_again(n) for n in nodes]


def _made_again(node: fx.Node) -> Any:
    """A tensor or number for a node of the trace, which Python may have none of any more."""
    t, fake_value = tracer(), node.meta["val"]
    if not isinstance(fake_value, SYMBOLS):
        with disable_proxy_modes_tracing():
            fake_value = fake_value.detach()  # it has the memory of the node
    elif t.unwrap_proxy(fake_value) is not fake_value:
        return fake_value
    return track_tensor_tree(fake_value, fx.Proxy(node, t), constant=None, tracer=t)


def empty(sizes: Sequence[Any], dtype: torch.dtype) -> Any:
    """A contiguous tensor without values, which no trace knows."""
    mode = torch._guards.detect_fake_mode() or fake_mode()
    with disable_proxy_modes_tracing(), mode:
        return torch.empty(list(sizes), dtype=dtype)


def _elsewhere(value: Any) -> torch.Tensor:
    """A tensor like one without values, with memory of its own."""
    with disable_proxy_modes_tracing(), value.fake_mode:
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)


def fake_mode() -> Any:
    """The mode of the tensors that are traced."""
    return next(x.fake_mode for x in tracer().tensor_tracker if hasattr(x, "fake_mode"))
