"""Lists that a loop adds to, as tensors of rows that it carries.

Where it is known how often the loop runs, a tensor for all rows is allocated before it; else the
tensor gets longer in each iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.source.carries import Carry
from onnxwright.exporter.capture.source.errors import (
    DisagreementError,
    ListUseError,
    LoopChangeError,
    UnevenItemError,
)
from onnxwright.exporter.capture.source.lists import (
    Grown,
    Growth,
    allocate_rows,
    length_of,
)
from onnxwright.exporter.capture.source.regions import known_symbols
from onnxwright.exporter.capture.source.run_time_lists import RunTimeList, of_same_list
from onnxwright.exporter.capture.source.state import Slot, State
from onnxwright.exporter.capture.source.tuple_lists import (
    begin_rows,
    is_record,
    parts_of,
    sample_of,
)
from onnxwright.exporter.capture.source.uneven_lists import Uneven, begin_uneven, uneven_axis


@dataclass(frozen=True)
class Trips:
    """How often a loop runs.

    Fields:
        most: as often at most.
        certain: whether it runs as often, unless that is below 0.
    """

    most: Any
    certain: bool


@dataclass
class Variables:
    """The variables that a loop may change.

    Fields:
        state: has their values.
        slots: the variables.
        before: their values before the loop, in the form in which it carries them.
        varying: those whose value is another object after an iteration -> their leaves.
    """

    state: State
    slots: list[Slot]
    before: list[Any]
    varying: dict[int, list[Carry]] = field(default_factory=dict)

    def begin_with(self, n: int, value: Any) -> None:
        """Give a variable another value before the loop: it is not known what varies in it."""
        self.before[n] = of_same_list(self.before[n], value)
        self.varying.pop(n, None)


class CarriedLists:
    """The lists among the variables of a loop that it adds to.

    Args:
        variables: of the loop.
        trips: how often the loop runs, where that is known before it does.
        only_counts: whether the loop is only to count its iterations.
        count_trips: gives how often it runs, by a loop before it that keeps no list.
    """

    def __init__(
        self,
        variables: Variables,
        trips: Trips | None,
        only_counts: bool,
        count_trips: Callable[[], Any],
    ) -> None:
        self.variables, self.trips, self.only_counts = variables, trips, only_counts
        self.count_trips = count_trips
        # Whether lists are tensors that get longer, as their items are used in the loop.
        self.resizes = False
        # Variables whose list grows -> how.
        self.growing: dict[int, Growth] = {}
        self._resized: list[Any] = []
        # Variables that an iteration gives a list of another length, with it and an item.
        self._rebound: list[tuple[int, Any, torch.Tensor, int | None]] = []
        for n, (slot, value) in enumerate(zip(variables.slots, variables.before)):
            if slot.live and isinstance(value, Grown) and value.growth is None:
                self._start_growth(n, None, value, value.sample(), 1)

    @property
    def has_room(self) -> bool:
        """Whether there are lists whose rows are all allocated before the loop."""
        return bool(self.growing) and not self.resizes

    @property
    def is_short(self) -> bool:
        """Whether an iteration added more rows than are allocated."""
        return any(growth.added > growth.most for growth in self.growing.values())

    def owners(self) -> list[Any]:
        """The lists of Python that are rows in the loop."""
        return [*(growth.owner for growth in self.growing.values()), *self._resized]

    def start_iteration(self) -> None:
        """Count anew what an iteration adds."""
        self._rebound = []
        for growth in self.growing.values():
            growth.added = 0

    def is_rebound(self, n: int, old: Any, new: Any, known: set[Any]) -> bool:
        """Whether a variable has a list of another length after an iteration; it is rows then."""
        if type(old) is not list or self.variables.state.owner(n) is not None or old is new:
            return False
        if isinstance(new, RunTimeList) and not new.is_growing:
            sample = new.sample()
        else:
            lists = type(new) is list and len(old) != len(new)
            items = [*old, *new] if lists else []
            if not items or not all(
                isinstance(x, (torch.Tensor, int, float, tuple)) or is_record(x) for x in items
            ):
                return False
            sample = sample_of(items[-1])
        dim = new.dim if isinstance(new, Uneven) else None
        if dim is None and not is_record(sample):
            dim = uneven_axis(sample, known)
        if dim is None and not _is_known(sample, known):
            return False
        self._rebound.append((n, old, sample, dim))
        return True

    def grow(self, items: list[Any], added: list[Any], error: DisagreementError) -> None:
        """Make a list that an iteration adds to one of rows; the iteration begins anew."""
        before, slots = self.variables.before, self.variables.slots
        found = [n for n, v in enumerate(before) if v is items and n not in self.growing]
        if not found or not slots[found[0]].live:
            raise LoopChangeError(error.path, error.left, error.right) from None
        sample, known = sample_of(added[0]), known_symbols()
        head = list(before[found[0]])
        if is_record(sample):
            if error.first or not _is_known(sample, known):
                raise LoopChangeError("an item of the list", "of one size", "of another")
            self._begin_with(found[0], items, begin_rows(head, sample))
            return
        if not _is_known(sample, known):
            dim = uneven_axis(sample, known)
            if dim is None or error.first:
                raise LoopChangeError("an item of the list", "of one size", "of another")
            self._start_uneven(found[0], items, head, sample, dim)
            return
        if error.first:
            head.reverse()
        self._start_growth(found[0], items, head, sample, len(added), error.first)

    def differ(self, error: UnevenItemError) -> None:
        """Make a list of rows one whose items differ in size; the iteration begins anew."""
        growth = error.items.growth
        found = [n for n, mine in self.growing.items() if mine is growth]
        if not found or len(error.dims) > 1 or growth.first or isinstance(growth.head, Grown):
            raise error
        del self.growing[found[0]]
        self._start_uneven(found[0], growth.owner, growth.head, growth.sample, error.dims[0])

    def make_room(self) -> bool:
        """Have rows for what an iteration gave and added; whether there were too few."""
        for n, owner, sample, dim in self._rebound:
            head = list(self.variables.before[n])
            if dim is None:
                self._start_resizing(n, owner, head, sample)
            else:
                self._start_uneven(n, owner, head, sample, dim)
        changed = False
        for n, growth in self.growing.items():
            if growth.added > growth.most:
                growth.most, changed = growth.added, True
                self._allocate(n)
        return changed

    def resize_all(self, error: ListUseError | LoopChangeError) -> None:
        """Carry all lists as tensors that get longer, if an error says that they are used so."""
        if self.only_counts or not self.has_room or not getattr(error, "of_lists", True):
            raise error
        self.resizes = True
        for n, growth in list(self.growing.items()):
            del self.growing[n]
            self._start_resizing(n, growth.owner, growth.head, growth.sample, growth.first)

    def after_loop(self, n: int, value: Any) -> Any:
        """A list as it is after the loop."""
        growth = self.growing.get(n)
        if growth is None or self.trips is None:
            return value
        if growth.certain and self.trips.certain and growth.added == growth.most:
            rows = value.rows.flip(0) if growth.first else value.rows
            return of_same_list(value, Grown(rows, rows.shape[0]))
        count = value.length.item()
        torch._check(count >= 0)
        torch._check(count <= value.rows.shape[0])
        rows = value.rows[:count]
        return of_same_list(value, Grown(rows.flip(0) if growth.first else rows, count))

    def _start_growth(
        self, n: int, owner: Any, head: Any, sample: Any, most: int, first: bool = False
    ) -> None:
        """Carry a list as rows that iterations add to."""
        if self.trips is None and not self.resizes:
            try:
                self.trips = Trips(self.count_trips(), True)
            except (ListUseError, LoopChangeError) as error:
                if self.only_counts or not getattr(error, "of_lists", True):
                    raise
                self.resizes = True  # how often it runs depends on the items
        if self.resizes or self.trips is None:
            self._start_resizing(n, owner, head, sample, first)
            return
        self.growing[n] = Growth(
            owner, head, sample, most, counts_only=self.only_counts, first=first
        )
        self._allocate(n)

    def _start_resizing(
        self, n: int, owner: Any, head: Any, sample: Any, first: bool = False
    ) -> None:
        """Carry a list as a tensor that gets longer."""
        if first and isinstance(head, list) and not isinstance(head, Grown):
            head = head[::-1]
        self._begin_with(n, owner, begin_rows(head, sample))

    def _start_uneven(
        self, n: int, owner: Any, head: list[Any], sample: torch.Tensor, dim: int
    ) -> None:
        """Carry a list as its items, joined along the axis of which each has another size."""
        self._begin_with(n, owner, begin_uneven(head, sample, dim))

    def _begin_with(self, n: int, owner: Any, items: RunTimeList) -> None:
        self.variables.begin_with(n, items)
        if owner is not None:
            self._resized.append(owner)

    def _allocate(self, n: int) -> None:
        """Begin with a tensor for all that iterations add to a list."""
        assert self.trips is not None
        growth = self.growing[n]
        rows = allocate_rows(growth.head, growth.sample, self.trips.most, growth.most)
        self.variables.begin_with(n, Grown(rows, length_of(growth.head), growth))


def _is_known(sample: Any, known: set[Any]) -> bool:
    """Whether the sizes of a tensor, or of all in a record, exist outside of the iteration."""
    if is_record(sample):
        return all(_is_known(part, known) for part in parts_of(sample, sample))
    sizes = [s for s in sample.shape if isinstance(s, torch.SymInt)]
    return all(free_unbacked_symbols(s) <= known for s in sizes)
