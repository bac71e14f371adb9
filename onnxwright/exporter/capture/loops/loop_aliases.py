"""Tensors that a loop carries, and the tensors that they may be in an iteration and after it.

`now = a` before a loop and `now = b` in it: the loop carries `now` as a tensor of its own, with a
tag that says which tensor it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import fx

from onnxwright.exporter.capture.control.reaching import named_now
from onnxwright.exporter.capture.control.store import Side
from onnxwright.exporter.capture.graphs.memory import (
    NOTHING,
    Alias,
    Origin,
    View,
    aliases,
    as_number,
    new_number,
    node_of,
    origin_of,
)
from onnxwright.exporter.capture.graphs.regions import Region, tracer
from onnxwright.exporter.capture.graphs.writes import memory_of
from onnxwright.exporter.capture.loops.carries import Carry
from onnxwright.exporter.capture.session.model_lines import model_line, returning_frame
from onnxwright.exporter.capture.session.program_lists import kind_of
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.aliases import refusal
from onnxwright.exporter.capture.values.candidates import is_of_before
from onnxwright.exporter.capture.values.chosen_objects import Chosen, add_chosen, is_object
from onnxwright.exporter.capture.values.going_through import alike, as_container
from onnxwright.exporter.capture.values.parts import parts_of

# A loop has as many numbers for the tensors that its iterations make, as a power of 2.
_BITS = 32
# Where the next one of them is carried.
_FRESH = 0


def _tag(name: str, start: Any) -> Carry:
    return Carry(name, start, torch.int64, (), is_number=True)


def _all(truths: Iterable[Any]) -> Any:
    """Whether all of some truth values hold: a bool, or a tensor."""
    all_hold: Any = True
    for one in truths:
        all_hold = one if all_hold is True else all_hold if one is True else all_hold & one
    return all_hold


@dataclass(frozen=True)
class Appended:
    """What a tensor may be that an iteration appends to a list.

    Fields:
        views: the tensors from before the loop.
        keys: the identities of what is carried that may be it in a later iteration.
    """

    views: dict[int, View]
    keys: frozenset[int]


class LoopAliases:
    """What the tensors that a loop carries may be.

    Attributes:
        tags: the tags that the loop carries, by the identities of what is carried.
    """

    def __init__(self) -> None:
        self.place = model_line()
        self.carries: dict[int, Carry] = {}
        self.tags: dict[int, Carry] = {}
        # For each tensor, the tensors from before the loop that it may be.
        self.views: dict[int, dict[int, View]] = {}
        # The number of it as one that others may be.
        self.own: dict[int, int] = {}
        # Other tensors that are carried and that may be the same one.
        self.linked: dict[int, set[int]] = {}
        # Those of which nobody knows which tensor they are.
        self.unknown: set[int] = set()

    def form(self) -> Any:
        """What is known; it grows until the loop has its form."""
        return sorted(
            (
                self.carries[key].path,
                tuple(sorted(views)),
                len(self.linked[key]),
                key in self.unknown,
            )
            for key, views in self.views.items()
        )

    def know(self, carries: Iterable[Carry]) -> None:
        """Know what is carried, and carry a tag with each tensor; nothing else any more."""
        carries = list(carries)
        for key in set(self.carries) - set(map(id, carries)):
            for table in (self.carries, self.tags, self.views, self.own, self.linked):
                table.pop(key, None)
            self.unknown.discard(key)
        for carry in carries:
            key = id(carry)
            if carry.is_number or key in self.carries:
                continue
            self.carries[key] = carry
            start = node_of(tracer(), carry.start)
            origin = NOTHING if start is None else origin_of(start)
            self.views[key] = dict(origin.views)
            self.own[key], self.linked[key] = new_number(), set()
            if origin.tag is None:
                self.unknown.add(key)
            self.tags.setdefault(_FRESH, _tag("a new tensor", new_number() << _BITS))
            tag = 0 if origin.tag is None else origin.tag
            self.tags[key] = _tag(f"{carry.path} as a tensor", tag)

    def note(self, tensors: dict[int, Any], tags: dict[int, Any]) -> None:
        """Remember the tensors that stand for what is carried.

        Args:
            tensors: the tensors, by the identities of what is carried.
            tags: their tags.
        """
        self.first, self.given_tags = len(aliases().writes), tags
        nodes = {key: node_of(tracer(), value) for key, value in tensors.items()}
        for key, views in self.views.items():
            node = nodes.get(key)
            if node is None or not (views or self.linked[key] or tags):
                continue
            every = {**views, self.own[key]: View(node)}
            for other in self.linked[key]:
                if (linked := nodes.get(other)) is not None:
                    every[self.own[other]] = View(linked)
            origin = Origin(every, None if key in self.unknown else tags.get(key))
            frame = returning_frame(self.carries[key].path)
            aliases().every.append(Alias(node, origin, self.place, True, returned_by=frame))

    def give_tags(self, inputs: Mapping[int, Any]) -> None:
        """Remember the tensors that stand for tags, by the identities of what is carried."""
        tags = self.tags.items()
        self.given_tags |= {key: inputs[id(tag)] for key, tag in tags if id(tag) in inputs}

    def leave(
        self, region: Region, leaves: Iterable[tuple[Carry, Any]], input_nodes: dict[int, fx.Node]
    ) -> tuple[dict[int, Any], bool]:
        """See what an iteration leaves.

        Args:
            region: that of the iteration.
            leaves: what is carried, each with what it is after the iteration.
            input_nodes: the nodes that stand for what is carried.

        Returns:
            The tags after the iteration; whether it has to be traced again, for more is known.
        """
        before, outside = self.form(), region.memory_before()
        inside = set(region.nodes())
        self.input_memory = {key: memory_of(node) for key, node in input_nodes.items()}
        self.inside, self.outside = inside, outside
        origins = {id(c): self._origin(region, leaf) for c, leaf in leaves if not c.is_number}
        # What has memory that the iteration made, or that was given to it.
        self.holders: dict[int, set[int]] = {}
        for key, origin in origins.items():
            for view in origin.views.values():
                if self.is_inside(view):
                    self.holders.setdefault(memory_of(view.node), set()).add(key)
        for key, origin in origins.items():
            self._see(key, origin)
        tags: dict[int, Any] = {}
        if self.tags:
            first = self.given_tags[_FRESH]
            fresh = {memory: as_number(first + n) for n, memory in enumerate(self.holders)}
            tags = {key: self._tag_after(origin, fresh) for key, origin in origins.items()}
            tags[_FRESH] = as_number(first + len(self.holders))
        self.written = dict(aliases().writes[self.first :])
        return tags, self.form() != before and bool(self.written)

    def _see(self, key: int, origin: Origin) -> None:
        """Know what a tensor may be after an iteration."""
        for number, view in origin.views.items():
            if not self.is_inside(view):
                if any(view.extends(seen_view) for seen_view in self.views[key].values()):
                    self.unknown.add(key)  # a view of a view, and so on, in each iteration
                else:
                    self.views[key][number] = view
                continue
            others = self.holders[memory_of(view.node)]
            self.linked[key] |= others - {key}
            if view.views and len(others) > 1:  # parts of one tensor
                self.unknown |= others
        if origin.tag is None:
            self.unknown.add(key)

    def _tag_after(self, origin: Origin, fresh: Mapping[int, Any]) -> Any:
        """The tag of what a tensor is after an iteration.

        Args:
            origin: what it may be.
            fresh: numbers that no tensor had before, by the memory that the iteration made.
        """
        tag = tag_after = 0 if origin.tag is None else origin.tag
        input_memory, old = set(self.input_memory.values()), list[Any]()
        new: list[tuple[int, int]] = []
        labels = {n: aliases().label(n, view) for n, view in origin.views.items()}
        for n, view in origin.views.items():
            memory = memory_of(view.node)
            if not self.is_inside(view) or (memory in input_memory and not view.views):
                old.append(labels[n])
            else:
                new.append((memory, n))
        for memory, n in sorted(new):
            is_new = _all([tag == labels[n], *(tag != label for label in old)])
            if is_new is not False and labels[n] is not None:
                number = fresh[memory]
                tag_after = number if is_new is True else torch.where(is_new, number, tag_after)
        return as_number(tag_after)

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
        keys, waiting = set[int](), [memory_of(v.node) for v in origin.views.values()]
        while waiting:  # later iterations have it as these
            new = self.holders.get(waiting.pop(), set()) - keys
            keys |= new
            waiting += [self.input_memory[key] for key in new]
        memory = {memory_of(v.node) for v in views.values()} | {
            self.input_memory[key] for key in keys
        }
        written = [self.written[m] for m in memory if m in self.written]
        if written:
            node = next(iter(region.nodes()))
            raise refusal(Alias(node, origin, self.place, is_item=True), written[0])
        return Appended(views, frozenset(keys))

    def note_items(
        self, rows: torch.Tensor, items: Iterable[Appended], tensors: dict[int, Any]
    ) -> None:
        """Remember what tensors the rows of a list may be.

        Args:
            rows: the items of the list after the loop.
            items: what an iteration appends to it.
            tensors: what is carried after the last iteration, by identity.
        """
        views: dict[int, View] = {}
        for item in items:
            nodes = [node_of(tracer(), tensors[key]) for key in item.keys]
            views |= {**item.views, **{new_number(): View(one) for one in nodes if one}}
        node = node_of(tracer(), rows)
        if views and node is not None:
            aliases().every.append(Alias(node, Origin(views, None), self.place, is_item=True))


# -- lists, dicts and dataclasses that a loop carries and that have a second name ------------------
# `now = a` before a loop, and `now = b` in it: the loop carries `now` as an object of its own.
# Where Python changes `now`, `a` or `b` would change, too, and the other way round: that is
# refused.

_Path = tuple[Any, ...]


class CarriedObjects:
    """The objects that a loop carries, and the other names that they have.

    Args:
        before: what is carried, as it is before the loop, by its place.
        iteration_inputs: what stands for it in an iteration.
        choices: how many choices of objects there were before.
        returned: the places of what the function returns, with its frame.
    """

    def __init__(
        self, before: Mapping[int, Any], iteration_inputs: Mapping[int, Any], choices: int,
        returned: Mapping[int, FrameType | None],
    ) -> None:  # fmt: skip
        self.choices, self.returned = choices, returned
        # The object of before, and what stands for it, by place and path.
        self.copies = {
            path: (old, new) for n, value in iteration_inputs.items()
            for path, old, new in _objects(before[n], value, (n,))
            if old is not new and n not in returned
        }  # fmt: skip
        self.named = named_now([old for old, _ in self.copies.values()])

    def note_iteration(self, after: Mapping[int, Any], written: Sequence[Any]) -> None:
        """See what an iteration leaves.

        Args:
            after: what is carried after it, by its place; other variables are as before it.
            written: the objects that it writes to.
        """
        self.ends: dict[_Path, list[Any]] = {}
        self.inner: dict[_Path, Chosen] = {}
        self.written = written
        session = current()
        chosen = [] if session is None else session.chosen[self.choices :]
        for n, value in after.items():
            for path, end, _ in _objects(value, value, (n,)):
                self.ends[path] = [end]
                for choice in chosen:
                    if any(v is end for v in choice.objects):
                        self.ends[path] += choice.objects
                        self.inner[path] = choice

    def check(self) -> None:
        """Refuse an iteration that changes an object with a second name; variables are as before.

        Raises:
            ChosenChangedError: it does.
        """
        named = named_now([v for path in self.copies for v in self.ends.get(path, ())])
        for path, (old, new) in self.copies.items():
            ends = self.ends.get(path, [])
            if any(end is new for end in ends[:1]):
                ends = ends[1:]
            shared = [old] if id(old) in self.named else []
            shared += [v for v in ends
                       if v is not new and (id(v) in named or self._twice(v, path))]  # fmt: skip
            if shared and any(v is w for v in (new, *shared) for w in self.written):
                raise self.inner.get(path, Chosen((), model_line(), in_loop=True)).error(new)

    def _twice(self, value: Any, path: _Path) -> bool:
        """Whether another variable has an object after an iteration, too."""
        return any(
            v is value for other, ends in self.ends.items()
            if other != path and other[0] not in self.returned for v in ends
        )  # fmt: skip

    def note_results(self, results: Mapping[int, Any]) -> None:
        """Remember the objects that are carried after the last iteration.

        Args:
            results: them, by their place.
        """
        carried_objects = {path: end for n, value in results.items()
                 for path, end, _ in _objects(value, value, (n,))}  # fmt: skip
        olds = {
            path: [*self.copies.get(path, ())[:1], *self.ends.get(path, ())]
            for path in carried_objects
        }
        named = named_now([v for kept in olds.values() for v in kept])
        for path, result in carried_objects.items():
            kept = [v for v in olds[path] if v is not result and id(v) in named]
            kept += [
                other for place, other in carried_objects.items()
                if place != path and other is not result
                and (place[0] not in self.returned or path[0] in self.returned)
                and any(v is end for v in olds[path] for end in self.ends.get(place, ()))
            ]  # fmt: skip
            if kept:
                frame = self.returned.get(path[0])
                add_chosen([Chosen((result, *kept), model_line(), True, frame)])


def to_carry(value: Any, outside: Callable[[torch.Tensor], bool], written: Side) -> Any:
    """What an iteration leaves in a variable, as a loop carries it.

    One of several containers, of which the iteration makes some, is a new one of their parts.

    Args:
        value: what it leaves.
        outside: whether a tensor is known before the loop.
        written: what the iteration writes.
    """
    parts = parts_of(value) if isinstance(value, tuple) else None
    if parts is not None:
        carried_parts = [to_carry(part, outside, written) for part in parts[1]]
        return value if all(map(operator.is_, carried_parts, parts[1])) else parts[2](carried_parts)
    every = alike(value)
    contents: dict[int, list[Any]] = {}
    for entry in written.log.values() if every else ():
        contents.setdefault(id(entry.place.owner), []).append(entry.before)
    if all(is_of_before(contents.get(id(one), one), outside) for one in every):
        return value
    new = as_container(value)
    add_chosen([Chosen((new, *every), model_line(), in_loop=True)])
    return new


def _objects(one: Any, two: Any, path: _Path) -> Iterator[tuple[_Path, Any, Any]]:
    """The objects in two values of one structure that may be changed, with where they are."""
    if is_object(one) and (
        kind_of(one) is kind_of(two) or (isinstance(one, list) and isinstance(two, list))
    ):
        yield path, one, two
    parts, others = parts_of(one), parts_of(two)
    if parts is None or others is None or parts[0] != others[0]:
        return
    for key, a, b in zip(parts[0], parts[1], others[1]):
        yield from _objects(a, b, (*path, key))
