"""Lists that a loop adds to: scan outputs, or tensors of rows that it carries.

A list that iterations only append to is a scan output (`appended_lists`).  One that they read, or
change otherwise, is a tensor of its items that gets longer or shorter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.source.building_rows import BuildingRows, LoopList, lists_in
from onnxwright.exporter.capture.source.carries import Carry
from onnxwright.exporter.capture.source.errors import (
    DisagreementError,
    ListUseError,
    LoopChangeError,
    UnevenItemError,
)
from onnxwright.exporter.capture.source.list_forms import (
    closed_items,
    form_of_item,
    is_ragged,
    of_same_list,
    widened,
)
from onnxwright.exporter.capture.source.regions import known_symbols
from onnxwright.exporter.capture.source.rows import Rows
from onnxwright.exporter.capture.source.scan_outputs import scan_output
from onnxwright.exporter.capture.source.state import UNSET, Slot, State


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
    """

    def __init__(self, variables: Variables, trips: Trips | None) -> None:
        self.variables, self.trips = variables, trips
        # The items of lists before the loop: sides of decisions may empty the list of Python.
        self._heads = {n: list(v) for n, v in enumerate(variables.before) if type(v) is list}
        # Variables whose list iterations only append to.
        self.appended: dict[int, LoopList] = {}
        # Variables whose list is carried, with the list of Python that it was.
        self.carried: dict[int, Any] = {}
        # Variables that an iteration gives a list of another form, with the list and an empty one
        # of that form.
        self._rebound: list[tuple[int, Any, Rows]] = []
        # Variables that an iteration does more with than to append.
        self._to_carry: list[int] = []
        self._count: Any = None

    def owners(self) -> list[Any]:
        """The lists of Python that are rows in the loop."""
        found = [*(one.owner for one in self.appended.values()), *self.carried.values()]
        return [owner for owner in found if owner is not None]

    def has(self, loop_list: Any) -> bool:
        """Whether a list is one that this loop only appends to."""
        return any(one is loop_list for one in self.appended.values())

    def begin_iteration(self, values: list[Any]) -> None:
        """Give an iteration an empty list in the place of each that it appends to."""
        self._rebound, self._to_carry = [], []
        for n, one in self.appended.items():
            values[n] = one.begin()
        owners = self.owners()
        for n in range(len(values)):
            owner = self.variables.state.owner(n)
            if any(owner is one for one in owners):
                values[n] = closed_items()  # another name of the list would not see the rows

    # -- what an iteration did ---------------------------------------------------------------------

    def note_iteration(self, n: int, after: Any, known: set[Any]) -> bool:
        """See what an iteration left of a list that it appends to; whether it is carried now."""
        if isinstance(after, BuildingRows) and after.loop_list is self.appended[n]:
            results = [x for x in after.results() if isinstance(x, torch.Tensor)]
            if all(free_unbacked_symbols(list(x.shape)) <= known for x in results):
                return False
        self._to_carry.append(n)  # another list, or as many items as only the iteration knows
        return True

    def is_aliased(self, after: Any) -> bool:
        """Whether another variable has a list that iterations append to; it is carried then."""
        found = [n for one in lists_in(after) for n, mine in self.appended.items() if mine is one]
        self._to_carry += found
        return bool(found)

    def is_appended_to(self, n: int, old: Any, new: Any) -> bool:
        """Whether an iteration changed a list of run-time length; it appends to it from now on."""
        if n in self.carried or old is new:
            return False
        if not isinstance(old, Rows) or not isinstance(new, Rows):
            return False
        if not isinstance(old, BuildingRows) and is_ragged(old):
            return False
        self._append(n, None, old, old.like())
        return True

    def is_rebound(self, n: int, old: Any, new: Any, known: set[Any]) -> bool:
        """Whether a variable has a list of another length after an iteration; it is rows then."""
        if type(old) is not list or self.variables.state.owner(n) is not None or old is new:
            return False
        try:
            if isinstance(new, Rows):
                form = new.like() if is_ragged(new) else form_of_item(new.sample(), known)
            elif type(new) is list and len(new) != len(old):
                form = form_of_item([*old, *new][-1], known)
            else:
                return False
        except LoopChangeError:  # items that are not tensors
            return False
        if form is not None:
            self._rebound.append((n, old, form))
        return form is not None

    def begin_again(self) -> None:
        """Give the lists the forms that an iteration has shown to be needed."""
        for n in dict.fromkeys(self._to_carry):
            self.carry(n)
        for n, owner, form in self._rebound:
            self._take_form(n, owner, form)

    def grow(self, items: list[Any], added: list[Any], error: DisagreementError) -> None:
        """Make a list that an iteration adds to one of rows; the iteration begins anew."""
        before, slots = self.variables.before, self.variables.slots
        found = [n for n, v in enumerate(before) if v is items and n not in self.appended]
        if not found or not slots[found[0]].live:
            raise LoopChangeError(error.path, error.left, error.right) from None
        form = form_of_item(added[0], known_symbols())
        if form is None:
            raise LoopChangeError("an item of the list", "of one size", "of another")
        self._take_form(found[0], items, form)

    def _take_form(self, n: int, owner: Any, form: Rows) -> None:
        """Append to a list, or carry it if its items have different sizes."""
        if is_ragged(form):
            self._carry_as(n, owner, widened(self._heads[n], form))
        else:
            self._append(n, owner, self._heads[n], form)

    def differ(self, error: UnevenItemError) -> None:
        """Make a list of rows one whose items differ in size; the iteration begins anew."""
        loop_list = getattr(error.items, "loop_list", None)
        found = [n for n, mine in self.appended.items() if mine is loop_list]
        if not found or len(error.dims) > 1 or len(error.items.form.paths()) > 1:
            raise error
        one = self.appended.pop(found[0])
        self._carry_as(found[0], one.owner, widened(one.head, one.like.like(error.dims[0])))

    def carry_read(self, error: ListUseError) -> None:
        """Carry a list that iterations read, as an error says.

        Raises:
            ListUseError: the loop does not append to this list.
        """
        found = [n for n, mine in self.appended.items() if mine is error.loop_list]
        if not found:
            raise error
        self.carry(found[0])

    def carry(self, n: int) -> None:
        """Carry a list that iterations do more with than to append to it."""
        one = self.appended.pop(n)
        if isinstance(one.head, BuildingRows):
            raise one.head.misuse("[...]")  # the loop around this one has to carry it
        self._carry_as(n, one.owner, widened(one.head, one.like))

    def _append(self, n: int, owner: Any, head: Any, like: Rows) -> None:
        self.variables.varying.pop(n, None)
        self.appended[n] = LoopList(owner, head, like)

    def _carry_as(self, n: int, owner: Any, items: Rows) -> None:
        self.variables.begin_with(n, items)
        self.carried[n] = owner

    # -- results -----------------------------------------------------------------------------------

    def scans(self, after: list[Any]) -> list[tuple[Carry, Any]]:
        """What an iteration appends: each as a carried value that no iteration reads.

        Args:
            after: the variables after an iteration.
        """
        found = []
        for n in self.appended:
            for leaf in after[n].results():
                dtype, shape = torch.bool, ()
                if isinstance(leaf, torch.Tensor):
                    dtype, shape = leaf.dtype, tuple(leaf.shape)
                name = f"an item of {self.variables.slots[n].name}"
                found.append((Carry(name, UNSET, dtype, shape, False), leaf))
        return found

    def rows(self, last: torch.Tensor) -> Any:
        """The rows of all iterations, of a value of the last one."""
        if self._count is None and self.trips is not None and self.trips.certain:
            self._count = _not_negative(self.trips.most)
        found = scan_output(last, self._count, list(last.shape))
        if self._count is None:
            self._count = found.shape[0]
        return found


def _not_negative(trips: Any) -> Any:
    """How often a loop runs, of a number that is below 1 for never."""
    if not isinstance(trips, torch.Tensor):
        return torch.sym_max(trips, 0)
    count = trips.clamp(min=0).item()
    torch._check(count >= 0)
    return count
