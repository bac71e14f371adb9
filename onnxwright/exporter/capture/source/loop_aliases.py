"""Tensors that a loop carries, and the tensors that they may be in an iteration and after it.

`now = a` before a loop and `now = b` in it: the loop carries `now` as a tensor of its own, with a
tag that says which tensor it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    as_number,
    memory_of,
    new_number,
    node_of,
    origin_of,
)
from onnxwright.exporter.capture.source.regions import Region, tracer
from onnxwright.exporter.capture.source.returned import returning_frame
from onnxwright.exporter.capture.source.session import asking_line, current

# A loop has as many numbers for the tensors that its iterations make, as a power of 2.
_NUMBERS_OF_A_LOOP = 32
# Where the next one of them is carried.
_FRESH = ""


def _tag(name: str, start: Any) -> Carry:
    return Carry(name, start, torch.int64, (), is_number=True)


def _all(truths: Iterable[Any]) -> Any:
    """Whether all of some truth values hold: a bool, or a tensor."""
    found: Any = True
    for one in truths:
        found = one if found is True else found if one is True else found & one
    return found


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
        # The number of it as one that others may be.
        self.own: dict[str, int] = {}
        # Other tensors that are carried and that may be the same one.
        self.linked: dict[str, set[str]] = {}
        # Those of which nobody knows which tensor they are.
        self.unknown: set[str] = set()

    def form(self) -> Any:
        """What is known; it grows until the loop has its form."""
        views = frozenset((path, frozenset(views)) for path, views in self.views.items())
        linked = frozenset((path, frozenset(others)) for path, others in self.linked.items())
        return views, linked, frozenset(self.unknown)

    def know(self, carry: Carry) -> None:
        """Know a tensor that is carried, and carry a tag with it."""
        if not carry.is_number and carry.path not in self.views:
            start = node_of(tracer(), carry.start)
            origin = NOTHING if start is None else origin_of(start)
            self.views[carry.path] = dict(origin.views)
            self.own[carry.path], self.linked[carry.path] = new_number(), set()
            if origin.tag is None:
                self.unknown.add(carry.path)
            if has_tags():
                first = new_number() << _NUMBERS_OF_A_LOOP
                self.tags.setdefault(_FRESH, _tag("a new tensor", first))
                self.tags[carry.path] = _tag(
                    f"{carry.path} as a tensor", 0 if origin.tag is None else origin.tag
                )

    def note(self, made: dict[str, Any], tags: dict[str, Any]) -> None:
        """Remember the tensors that stand for what is carried.

        Args:
            made: the tensors, by their paths.
            tags: their tags.
        """
        self.first, self.given_tags = len(aliases().writes), tags
        nodes = {path: node_of(tracer(), value) for path, value in made.items()}
        for path, views in self.views.items():
            node = nodes.get(path)
            if node is None or not (views or self.linked[path] or tags):
                continue
            every = {**views, self.own[path]: View(node)}
            for other in self.linked[path]:
                if (linked := nodes.get(other)) is not None:
                    every[self.own[other]] = View(linked)
            origin = Origin(every, None if path in self.unknown else tags.get(path))
            frame = returning_frame(path)
            aliases().every.append(Alias(node, origin, self.place, True, returned_by=frame))

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
        for path, origin in origins.items():
            self._see(path, origin)
        tags: dict[str, Any] = {}
        if self.tags:
            first = self.given_tags[_FRESH]
            fresh = {memory: as_number(first + n) for n, memory in enumerate(self.holders)}
            tags = {path: self._tag_after(origin, fresh) for path, origin in origins.items()}
            tags[_FRESH] = as_number(first + len(self.holders))
        self.written = dict(aliases().writes[self.first :])
        return tags, self.form() != before and bool(self.written)

    def _see(self, path: str, origin: Origin) -> None:
        """Know what a tensor may be after an iteration."""
        for number, view in origin.views.items():
            if not self.is_inside(view):
                self.views[path][number] = view
                continue
            others = self.holders[memory_of(view.node)]
            self.linked[path] |= others - {path}
            if view.views and len(others) > 1:  # parts of one tensor
                self.unknown |= others
        if origin.tag is None:
            self.unknown.add(path)

    def _tag_after(self, origin: Origin, fresh: Mapping[int, Any]) -> Any:
        """The tag of what a tensor is after an iteration.

        Args:
            origin: what it may be.
            fresh: numbers that no tensor had before, by the memory that the iteration made.
        """
        tag = found = 0 if origin.tag is None else origin.tag
        given, old = set(self.given.values()), list[Any]()
        new: list[tuple[int, int]] = []
        labels = {n: aliases().label(n, view) for n, view in origin.views.items()}
        for n, view in origin.views.items():
            memory = memory_of(view.node)
            if not self.is_inside(view) or (memory in given and not view.views):
                old.append(labels[n])
            else:
                new.append((memory, n))
        for memory, n in sorted(new):
            is_new = _all([tag == labels[n], *(tag != label for label in old)])
            if is_new is not False and labels[n] is not None:
                number = fresh[memory]
                found = number if is_new is True else torch.where(is_new, number, found)
        return as_number(found)

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
