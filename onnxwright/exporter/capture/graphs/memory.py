"""The memory that tensors of a trace have, and which tensor of before one may be.

Torch's fake tensors share memory as real ones do, and the value that it keeps at a node is one of
them: two nodes with one memory are two views of one tensor.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import fx

from onnxwright.exporter.capture.graphs.writes import memory_of, viewed, written_arguments
from onnxwright.exporter.capture.session.session import current

_numbers = itertools.count(1)


@dataclass(frozen=True)
class View:
    """A tensor as a view of another one.

    Fields:
        node: the other one.
        views: the operators that make it of that, one after the other.
    """

    node: fx.Node
    views: tuple[fx.Node, ...] = ()

    def key(self) -> Any:
        """Equal for two views of the same elements."""
        views = tuple((v.target, repr(v.args[1:]), repr(v.kwargs)) for v in self.views)
        return self.node.target if self.is_constant() else self.node, views

    def is_constant(self) -> bool:
        """Whether it is of a tensor of the model, which each part of the program can name."""
        return bool(self.node.op == "get_attr")

    def extends(self, other: View) -> bool:
        """Whether it is a view of another one, and not that itself."""
        (home, views), (other_home, others) = self.key(), other.key()
        is_longer = views != others and views[: len(others)] == others
        return bool(home == other_home and is_longer)

    def of(self, value: Any) -> Any:
        """The view of a value of the node."""
        for view in self.views:
            value = view.target(value, *view.args[1:], **view.kwargs)
        return value


@dataclass(frozen=True)
class Origin:
    """The tensors that one may be.

    Fields:
        views: the tensors, by their numbers.
        tag: the number of the one that it is: a tensor or a number of Python; None where that is
            not known at run time.
    """

    views: Mapping[int, View]
    tag: Any


@dataclass(frozen=True)
class Alias:
    """A tensor that a decision or a loop made, which stands for others.

    Fields:
        node: its node.
        origin: what it may be; one of them may be itself.
        place: the file and line of the decision or the loop.
        in_loop: whether the iterations of a loop chose it.
        is_item: whether it has the items of a list that a loop appends to.
        returned_by: the function that has returned it, on one side; None for other tensors.
    """

    node: fx.Node
    origin: Origin
    place: tuple[str, int]
    in_loop: bool = False
    is_item: bool = False
    returned_by: FrameType | None = None

    @functools.cached_property
    def memory(self) -> int:
        """Its memory."""
        return memory_of(self.node)

    @functools.cached_property
    def others(self) -> dict[int, int]:
        """The memory of the tensors that it may be, by their numbers."""
        return {number: memory_of(view.node) for number, view in self.origin.views.items()}


@dataclass
class Aliases:
    """The aliases of one try of a capture.

    Fields:
        every: those that the code that runs may use.
        numbers: the numbers of views.
        settled: the nodes up to which writes were seen, by graph.
        writes: the memory that the program wrote to, each time with the file and line.
        paused: whether writes need nothing, for they keep aliases equal.
    """

    every: list[Alias] = field(default_factory=list)
    numbers: dict[Any, int] = field(default_factory=dict)
    settled: dict[fx.Graph, fx.Node] = field(default_factory=dict)
    writes: list[tuple[int, tuple[str, int]]] = field(default_factory=list)
    paused: bool = False

    def number(self, view: View) -> int:
        """The number of a view."""
        key = view.key()
        if key not in self.numbers:
            self.numbers[key] = next(_numbers)
        return self.numbers[key]

    def of(self, node: fx.Node) -> Alias | None:
        """The alias whose memory a node has."""
        memory = memory_of(node)
        return next((a for a in self.every if memory and a.memory == memory), None)

    def label(self, number: int, view: View) -> Any:
        """The tag of what is the same as a view, which may be an alias; None if nobody knows."""
        alias = None if view.views else self.of(view.node)
        return number if alias is None else alias.origin.tag

    def part_of(self, alias: Alias, numbers: Mapping[int, int]) -> Any:
        """The tag of a view of an alias.

        Args:
            alias: it.
            numbers: the number of what it may be -> that of the view of this.
        """
        tag = alias.origin.tag
        if not isinstance(tag, torch.Tensor):
            return None if tag is None else numbers.get(tag, tag)
        new_tag: Any = 0
        for number, new in numbers.items():
            label = self.label(number, alias.origin.views[number])
            new_tag = torch.where(tag == label, new, new_tag) if label is not None else new_tag
        return as_number(new_tag)


def as_number(tag: Any) -> Any:
    """A tag, which stands for a number of Python."""
    session = current()
    if session is not None and isinstance(tag, torch.Tensor):
        session.numbers.add(tag)
    return tag


def new_number() -> int:
    """A number that no tensor has."""
    return next(_numbers)


def aliases() -> Aliases:
    """The aliases of the capture by source that runs; none outside of one."""
    session = current()
    if session is None:
        return Aliases()
    if session.aliases is None:
        session.aliases = Aliases()
    session_aliases: Aliases = session.aliases
    return session_aliases


NOTHING = Origin({}, 0)
"""What a number, or a variable without a value, may be."""


def node_of(tracer: Any, value: Any) -> fx.Node | None:
    """The node of a tensor, or of what it is a view of; None for one that is not of the graph."""
    while isinstance(value, torch.Tensor):
        proxy = tracer.tensor_tracker.get(value)
        if proxy is not None:
            node: fx.Node = proxy.proxy.node
            return node
        value = value._base
    return None


def origin_of(
    node: fx.Node, inside: Collection[fx.Node] = (), outside: Collection[int] = ()
) -> Origin:
    """The tensors that the one of a node may be: itself, what it is a view of, what was chosen.

    Args:
        node: of a tensor.
        inside: the nodes of the part that ends here.
        outside: the memory of tensors of before it.
    """
    tracked_aliases = aliases()
    alias = tracked_aliases.of(node)
    home, views, base = None if alias is None else alias.node, list[fx.Node](), node
    while base is not home and (of := viewed(base)) is not None and memory_of(node) in _all(of):
        if not written_arguments(base):
            views.insert(0, base)
        base = of
    is_fixed = not any(isinstance(n, fx.Node) for v in views for n in v.all_input_nodes[1:])
    if not is_fixed:  # another part in each iteration, and another node in each trace
        views = []
    if alias is None:
        view = View(base, tuple(views))
        # Operators that are not views may give a tensor of before as it is.
        is_other = base in inside and not view.is_constant() and memory_of(base) in outside
        number = tracked_aliases.number(view)
        return Origin({number: view}, number if is_fixed and not is_other else None)
    if base is home and not views and is_fixed:
        return alias.origin
    part_views = {n: View(v.node, (*v.views, *views)) for n, v in alias.origin.views.items()}
    numbers = {n: tracked_aliases.number(v) for n, v in part_views.items()}
    tag = tracked_aliases.part_of(alias, numbers) if base is home and is_fixed else None
    return Origin({numbers[n]: view for n, view in part_views.items()}, tag)


def _all(node: fx.Node) -> set[int]:
    """The memory of the tensors that a node gives."""
    value = node.meta.get("val")
    items = value if isinstance(value, (list, tuple)) else [value]
    return {v.untyped_storage()._cdata for v in items if isinstance(v, torch.Tensor)}
