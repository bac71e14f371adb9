"""Tensors that a loop carries and that have a second name, and writes to them in place.

`now = a` before a loop, and `now = b` in it: the loop carries `now` as a tensor of its own.  Where
Python writes to `now`, `a` or `b` would change, too, and the other way round: a program that reads
one of them after a write to another is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx

from onnxwright.exporter.capture.source.chosen_tensors import (
    ChosenTensor,
    Nodes,
    base_of,
    last_node,
    node_of,
    stale_after,
)
from onnxwright.exporter.capture.source.errors import words
from onnxwright.exporter.capture.source.functional import viewed, written_arguments
from onnxwright.exporter.capture.source.returned import is_returned, returning_frame
from onnxwright.exporter.capture.source.session import asking_line, current

_aten = torch.ops.aten
_PUT, _SLICE = _aten.index_put_.default, _aten.slice.Tensor
_SELECT, _ITEM = _aten.select.int, _aten.item.default
# The sides of decisions by which a tensor is another one: (the decision, the side).
_Sides = frozenset[tuple[fx.Node, int]]
_Homes = dict[fx.Node, list[_Sides]]
# More ways than these are not told apart.
_MOST_WAYS = 64


@dataclass(frozen=True)
class Carried:
    """A tensor that a loop carries.

    Fields:
        path: what the user calls it.
        words: what it is, as words.
        given: the node of an iteration that stands for it.
        start: the node of what it is before the loop; None if it has no value there.
        after: the node of what it is after an iteration.
    """

    path: str
    words: str
    given: fx.Node
    start: fx.Node | None
    after: fx.Node | None


@dataclass(frozen=True)
class AppendedTensor:
    """A tensor that an iteration appends to a list.

    Fields:
        path: what the user calls it.
        words: what it is, as words.
        node: its node.
    """

    path: str
    words: str
    node: fx.Node


def tensors_carried(
    tracer: Any, carries: Iterable[Any], leaves: Iterable[Any], given: Iterable[fx.Node]
) -> list[Carried]:
    """The tensors of what a loop carries.

    Args:
        tracer: what traces the program.
        carries: what is carried, as `carries.Carry`.
        leaves: what each is after an iteration.
        given: the node that stands for each in an iteration.
    """
    return [
        Carried(c.path, words(leaf), node, node_of(tracer, c.start), node_of(tracer, leaf))
        for c, leaf, node in zip(carries, leaves, given) if not c.is_number
    ]  # fmt: skip


def tensors_appended(tracer: Any, name: str, results: Iterable[Any]) -> list[AppendedTensor | None]:
    """The tensors that an iteration appends to a list; None for other results of it.

    Args:
        tracer: what traces the program.
        name: what the user calls the list.
        results: what the iteration appends.
    """
    nodes = [(leaf, node_of(tracer, leaf)) for leaf in results]
    path = f"an item of {name}"
    return [None if node is None else AppendedTensor(path, words(leaf), node)
            for leaf, node in nodes]  # fmt: skip


class CarriedTensors:
    """The tensors that a loop carries, and the memory that they may share.

    Args:
        carried: the tensors.
        nodes: the nodes of an iteration, the last of the trace.
        runs: whether the loop runs once at least.
        appended: what an iteration appends to lists.
        counter: the node of the number that is another one in each iteration; None without.

    Raises:
        ChosenTensorError: an iteration reads what was written to under another name, or writes to
            what an earlier one appended.
    """

    def __init__(
        self,
        carried: Sequence[Carried],
        nodes: Sequence[fx.Node],
        runs: bool,
        appended: Sequence[AppendedTensor] = (),
        counter: fx.Node | None = None,
    ) -> None:
        session = current()
        assert session is not None
        self.carried, self.runs, self.appended = carried, runs, appended
        self.inside, self.nodes, self.counter = set(nodes), nodes, counter
        self.choices: list[ChosenTensor] = session.chosen_tensors
        self.place = asking_line()
        starts = [self._homes(one.start) for one in carried]
        afters = [self._homes(one.after) for one in carried]
        given = {one.given: n for n, one in enumerate(carried)}
        # For each, the tensors from before the loop that it may be in an iteration.
        self.sources: list[dict[fx.Node, None]] = [
            {node: None for home in (start, after) for node in home if node not in self.inside}
            for start, after in zip(starts, afters)
        ]
        moves = [(n, given[node]) for n, home in enumerate(afters) for node in home
                 if node in given]  # fmt: skip
        for _ in carried:
            for n, m in moves:
                self.sources[n] |= self.sources[m]
        every = range(len(carried))
        self.joined = {
            (n, m) for n in every for m in every
            if n < m and (_meet(starts[n], starts[m]) or _meet(afters[n], afters[m]))
        }  # fmt: skip
        for _ in carried:
            self.joined |= {
                (min(n, k), max(n, k)) for n, m in moves for k, j in moves
                if n != k and (min(m, j), max(m, j)) in self.joined
            }  # fmt: skip
        # What each may be after the loop.
        self.left = [self._left(n, afters[n], moves) for n in every]
        self.written = {base_of(node) for user in nodes for node in written_arguments(user)}
        self._check(nodes)
        # For each, the nodes whose memory it may have after an iteration.
        self.after_homes = afters
        for one in appended:
            self._check_appended(one)

    def _left(self, n: int, after: _Homes, moves: Sequence[tuple[int, int]]) -> list[fx.Node]:
        """The tensors from before the loop that one may be after it."""
        if not self.runs or self.carried[n].given in after:
            return list(self.sources[n])
        found = dict.fromkeys(node for node in after if node not in self.inside)
        for m in (m for k, m in moves if k == n):
            found |= self.sources[m]
        return list(found)

    def _check(self, nodes: Sequence[fx.Node]) -> None:
        """Refuse an iteration that reads what it wrote to under another name."""
        if not self.written:
            return
        results = [one.after for one in self.carried if one.after is not None]
        pairs = [(n, tuple(self.sources[n])) for n in range(len(self.carried))]
        pairs += [(n, (self.carried[m].given,)) for n, m in sorted(self.joined)
                  if not self._returned(n, m)]  # fmt: skip
        for n, others in pairs:
            chosen = self._chosen(n, self.carried[n].given, nodes[-1], others)
            stale_after(chosen, self.choices, self.written, nodes, results)

    def _check_appended(self, one: AppendedTensor) -> None:
        """Refuse an iteration that writes to a tensor that an earlier one appended to a list."""
        homes = self._homes(one.node)
        aliases = {node for node in homes if node not in self.inside}
        for n in self._carried_as(homes):
            aliases.add(self.carried[n].given)
        written = aliases & self.written
        if written and not all(self._is_own_row(one.node, base) for base in written):
            raise self._appended(one, None, one.node, list(aliases)).error()

    def _is_own_row(self, node: fx.Node, base: fx.Node) -> bool:
        """Whether a tensor is the row of its iteration, and each iteration writes to its own row.

        Args:
            node: the tensor, which has memory of another one.
            base: the other one.
        """
        if not self._is_row(node, base):
            return False
        for user in self.nodes:
            for target in written_arguments(user):
                if base_of(target) is base and not self._is_row(target, base):
                    at = user.args[1] if user.target is _PUT else None
                    of = target.args[0] if target.target is _SLICE else target
                    whole = target is base or target.args[1:] == (0, 0, sys.maxsize)
                    is_row = isinstance(at, (list, tuple)) and at[0] is self.counter
                    if not (is_row and of is base and whole):
                        return False
        return True

    def _is_row(self, node: fx.Node, base: fx.Node) -> bool:
        """Whether a node is the row of another one at the counter."""
        if self.counter is None or node.target is not _SELECT or node.args[0] is not base:
            return False
        place = node.args[2]
        return (
            node.args[1] == 0 and isinstance(place, fx.Node) and place.target is _ITEM
            and place.args[0] is self.counter
        )  # fmt: skip

    def _carried_as(self, homes: Collection[fx.Node]) -> list[int]:
        """What is carried that has the memory of nodes in a later iteration."""
        found: dict[int, None] = {}
        waiting = list(homes)
        while waiting:
            node = waiting.pop()
            for n, after in enumerate(self.after_homes):
                if node in after and n not in found:
                    found[n] = None
                    waiting.append(self.carried[n].given)
        return list(found)

    def _appended(
        self, one: AppendedTensor, rows: fx.Node | None, last: fx.Node, sources: Sequence[fx.Node]
    ) -> ChosenTensor:
        said = (one.words, one.words)
        return ChosenTensor(rows, last, (tuple(sources),), one.path, said, self.place, is_item=True)

    def note_appended(
        self,
        tracer: Any,
        rows: torch.Tensor,
        items: Sequence[AppendedTensor],
        results: Sequence[Any],
    ) -> None:
        """Remember what tensors the rows of a list may be.

        Args:
            tracer: what traces the program.
            rows: the items of the list after the loop.
            items: what an iteration appends to it.
            results: what is carried after the last iteration.
        """
        session = current()
        assert session is not None
        given = {one.given: n for n, one in enumerate(self.carried)}
        sources: dict[fx.Node | None, None] = {}
        for item in items:
            homes = self._homes(item.node)
            sources |= dict.fromkeys(node for node in homes if node not in self.inside)
            same = [*self._carried_as(homes), *(given[node] for node in homes if node in given)]
            for n in same:
                sources |= dict.fromkeys([*self.sources[n], node_of(tracer, results[n])])
        known = [node for node in sources if node is not None and node not in self.inside]
        made = node_of(tracer, rows)
        if known and made is not None:
            found = self._appended(items[0], made, last_node(tracer), known)
            session.chosen_tensors.append(found)

    def _returned(self, *places: int) -> bool:
        """Whether one of what is carried is what the function returns."""
        return any(is_returned(self.carried[n].path) for n in places)

    def _chosen(self, n: int, node: fx.Node | None, last: fx.Node, others: Nodes) -> ChosenTensor:
        one = self.carried[n]
        said = (one.words, one.words)
        return ChosenTensor(node, last, (others,), one.path, said, self.place, in_loop=True,
                            returned_by=returning_frame(one.path))  # fmt: skip

    def note(self, tracer: Any, results: Sequence[Any]) -> None:
        """Remember what the results of the loop may be.

        Args:
            tracer: what traces the program.
            results: what is carried after the last iteration.
        """
        session = current()
        assert session is not None
        last = last_node(tracer)
        made = [tracer.tensor_tracker[result].proxy.node for result in results]
        for n, one in enumerate(self.carried):
            if base_of(one.given) in self.written and self.sources[n]:
                found = self._chosen(n, None, last, tuple(self.sources[n]))
                session.chosen_tensors.append(found)
            joined = [m for k, m in sorted(self.joined) if k == n]
            others = [made[m] for m in joined if not self._returned(m)]
            if self.left[n] or others:
                found = self._chosen(n, made[n], last, (*self.left[n], *others))
                session.chosen_tensors.append(found)
            returned = [m for m in joined if self._returned(m)]
            if returned:
                found = self._chosen(n, made[n], last, tuple(made[m] for m in returned))
                frame = returning_frame(self.carried[returned[0]].path)
                session.chosen_tensors.append(replace(found, returned_by=frame))

    def _homes(self, node: fx.Node | None) -> _Homes:
        """The nodes whose memory one may have, each with the sides of decisions where it has."""
        found: _Homes = {}
        if node is None:
            return found
        waiting: list[tuple[fx.Node, _Sides]] = [(node, frozenset())]
        ways = 0
        while waiting:
            one, sides = waiting.pop()
            base = base_of(one) if one in self.inside else one
            base = base_of(base)
            if sides in found.get(base, ()):
                continue
            found.setdefault(base, []).append(sides)
            for chosen in self.choices:
                if chosen.result is not base:
                    continue
                decision = viewed(chosen.result) or chosen.result  # that it is a result of
                for side, sources in enumerate(chosen.sources):
                    ways += 1
                    taken = sides | {(decision, side)} if len(chosen.sources) > 1 else sides
                    taken = taken if ways < _MOST_WAYS else frozenset()
                    waiting += [(source, taken) for source in sources]
        return found


def _meet(one: _Homes, two: _Homes) -> bool:
    """Whether two tensors may have the same memory."""
    return any(_agree(a, b) for node in one if node in two for a in one[node] for b in two[node])


def _agree(one: Collection[tuple[fx.Node, int]], two: Collection[tuple[fx.Node, int]]) -> bool:
    sides = dict(one)
    return all(sides.get(decision, side) == side for decision, side in two)
