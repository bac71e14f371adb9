"""Tensors that a loop carries, and the tensors that they may be in an iteration and after it.

`now = a` before a loop and `now = b` in it: the loop carries `now` as a tensor of its own, with a
tag that says which tensor it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from onnxwright.exporter.capture.source.aliases import has_tags, refusal
from onnxwright.exporter.capture.source.carries import Carry
from onnxwright.exporter.capture.source.memory import (
    NOTHING,
    Alias,
    Origin,
    View,
    aliases,
    memory_of,
    new_number,
    node_of,
    origin_of,
)
from onnxwright.exporter.capture.source.regions import Region, tracer
from onnxwright.exporter.capture.source.returned import returning_frame
from onnxwright.exporter.capture.source.session import asking_line, current


@dataclass(frozen=True)
class Appended:
    """What a tensor may be that an iteration appends to a list.

    Fields:
        views: the tensors from before the loop.
        paths: what is carried that may be it in a later iteration.
    """

    views: dict[int, View]
    paths: frozenset[str]


class LoopAliases:
    """What the tensors that a loop carries may be.

    Attributes:
        tags: the tags that the loop carries, by the paths of their tensors; in the first capture
            there are none.
    """

    def __init__(self) -> None:
        self.place = asking_line()
        self.tags: dict[str, Carry] = {}
        # For each tensor, the tensors from before the loop that it may be.
        self.views: dict[str, dict[int, View]] = {}
        # The number that says that it is none of these.
        self.own: dict[str, int] = {}
        # Those that it shares memory with which an iteration made; its tag does not say so.
        self.linked: dict[str, set[str]] = {}

    def form(self) -> Any:
        """What is known; it grows until the loop has its form."""
        return frozenset(
            (path, *views, -len(self.linked[path])) for path, views in self.views.items()
        )

    def know(self, carry: Carry) -> Carry | None:
        """Know a tensor that is carried.

        Args:
            carry: it.

        Returns:
            The tag that is carried with it, if one is.
        """
        if carry.is_number:
            return None
        if carry.path not in self.views:
            start = node_of(tracer(), carry.start)
            origin = NOTHING if start is None else origin_of(start)
            self.views[carry.path] = dict(origin.views)
            self.own[carry.path], self.linked[carry.path] = new_number(), set()
            if origin.tag is None:
                self.linked[carry.path].add(carry.path)
            if has_tags() and origin.tag is not None:
                name = f"{carry.path} as a tensor"
                self.tags[carry.path] = Carry(name, origin.tag, torch.int64, (), is_number=True)
        return self.tags.get(carry.path)

    def note(self, made: dict[str, Any], tags: dict[str, Any]) -> None:
        """Remember the tensors that stand for what is carried.

        Args:
            made: the tensors, by their paths.
            tags: their tags.
        """
        self.first = len(aliases().writes)
        nodes = {path: node_of(tracer(), value) for path, value in made.items()}
        for path, views in self.views.items():
            node = nodes.get(path)
            linked = [nodes.get(other) for other in self.linked[path]]
            if node is not None and (views or linked):
                every = {**views, self.own[path]: View(node)}
                every |= {new_number(): View(one) for one in linked if one is not None}
                tag = None if linked else tags.get(path)
                aliases().every.append(
                    Alias(node, Origin(every, tag), self.place, in_loop=True,
                          returned_by=returning_frame(path))
                )  # fmt: skip

    def leave(
        self, region: Region, leaves: Iterable[tuple[Carry, Any]], given: dict[str, fx.Node]
    ) -> tuple[dict[str, Any], bool]:
        """See what an iteration leaves.

        Args:
            region: that of the iteration.
            leaves: what is carried, each with what it is after the iteration.
            given: the nodes that stand for what is carried.

        Returns:
            The tags after the iteration; whether it has to be traced again, for more is known.
        """
        before, outside = self.form(), region.memory_before()
        inside = set(region.nodes())
        self.given = {path: memory_of(node) for path, node in given.items()}
        self.inside, self.outside = inside, outside
        origins = {c.path: self._origin(region, leaf) for c, leaf in leaves if not c.is_number}
        # The paths that have memory that the iteration made, or that was given to it.
        self.holders: dict[int, set[str]] = {}
        for path, origin in origins.items():
            for view in origin.views.values():
                if self.is_inside(view):
                    self.holders.setdefault(memory_of(view.node), set()).add(path)
        tags = {}
        for path, origin in origins.items():
            numbers = {}
            for number, view in origin.views.items():
                if not self.is_inside(view):
                    self.views[path][number] = view
                    continue
                numbers[number] = self.own[path]
                others = self.holders[memory_of(view.node)]
                self.linked[path] |= others if len(others) > 1 else set()
            if origin.tag is None:
                self.linked[path].add(path)
            tag = origin.with_tag(numbers)
            tags[path] = 0 if tag is None or self.linked[path] else tag
        self.written = dict(aliases().writes[self.first :])
        return tags, self.form() != before and bool(self.written)

    def _origin(self, region: Region, value: Any) -> Origin:
        session, node = current(), node_of(region.tracer, value)
        if node is None or session is None or value in session.numbers:
            return NOTHING
        return origin_of(node, self.inside, self.outside)

    def is_inside(self, view: View) -> bool:
        """Whether an iteration made the memory of a view, or it was given to it."""
        is_own = view.node in self.inside and not view.is_constant()
        return is_own and memory_of(view.node) not in self.outside

    # -- lists that the loop appends to ------------------------------------------------------------

    def appended(self, region: Region, value: Any) -> Appended:
        """What a tensor may be that an iteration appends to a list.

        Args:
            region: that of the iteration.
            value: what it appends.

        Raises:
            ChosenChangedError: an iteration writes to what an earlier one appended.
        """
        origin = self._origin(region, value)
        views = {n: v for n, v in origin.views.items() if not self.is_inside(v)}
        paths, waiting = set[str](), [memory_of(v.node) for v in origin.views.values()]
        while waiting:  # later iterations have it under these paths
            new = self.holders.get(waiting.pop(), set()) - paths
            paths |= new
            waiting += [self.given[path] for path in new]
        memory = {memory_of(v.node) for v in views.values()} | {self.given[p] for p in paths}
        written = [self.written[m] for m in memory if m in self.written]
        if written:
            node = next(iter(region.nodes()))
            raise refusal(Alias(node, origin, self.place, is_item=True), written[0])
        return Appended(views, frozenset(paths))

    def note_items(
        self, rows: torch.Tensor, items: Iterable[Appended], made: dict[str, Any]
    ) -> None:
        """Remember what tensors the rows of a list may be.

        Args:
            rows: the items of the list after the loop.
            items: what an iteration appends to it.
            made: what is carried after the last iteration, by path.
        """
        views: dict[int, View] = {}
        for item in items:
            nodes = [node_of(tracer(), made[path]) for path in item.paths]
            views |= {**item.views, **{new_number(): View(one) for one in nodes if one}}
        node = node_of(tracer(), rows)
        if views and node is not None:
            aliases().every.append(Alias(node, Origin(views, None), self.place, is_item=True))
