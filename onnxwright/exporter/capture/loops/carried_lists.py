"""Lists that a loop adds to: scan outputs, or tensors of rows that it carries.

A list that iterations only append to is a scan output (`building_rows`).  One that they read, or
change otherwise, is a tensor of its items that gets longer or shorter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.assumptions.size_tests import is_certain
from onnxwright.exporter.capture.graphs.emitting import known_symbols
from onnxwright.exporter.capture.lists.list_forms import form_of_item, is_ragged, item_of, widened
from onnxwright.exporter.capture.loops.carries import Carry
from onnxwright.exporter.capture.session.errors import (
    DisagreementError,
    ListUseError,
    LoopChangeError,
    UnevenItemError,
)
from onnxwright.exporter.capture.values.building_rows import BuildingRows, LoopList
from onnxwright.exporter.capture.values.list_writes import check_own
from onnxwright.exporter.capture.values.rows import Rows
from onnxwright.exporter.capture.values.state import UNSET, Slot, State


@dataclass(frozen=True)
class Trips:
    """How often a loop runs.

    Fields:
        most: as often at most.
        certain: whether it runs as often, unless that is below 0.
    """

    most: Any
    certain: bool

    def has_one(self) -> bool:
        """Whether there is at least one iteration, at all sizes."""
        is_number = self.certain and isinstance(self.most, (int, torch.SymInt))
        return is_number and is_certain(self.most >= 1)


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
        self.before[n] = value
        self.varying.pop(n, None)


class CarriedLists:
    """The lists that iterations of a loop give another number of items.

    Args:
        variables: of the loop: names that iterations bind to other lists, and items of lists.
        trips: how often the loop runs, where that is known before it does.
    """

    def __init__(self, variables: Variables, trips: Trips | None) -> None:
        self.variables, self.trips = variables, trips
        # Variables whose list iterations only append to.
        self.appended: dict[int, LoopList] = {}
        # Variables whose list is carried.
        self.carried: set[int] = set()
        # Variables that get rows before the next iteration, with the form of these.
        self._forms: dict[int, Rows] = {}
        # Variables that an iteration does more with than to append.
        self._to_carry: set[int] = set()
        self._count: Any = None

    def begin_iteration(self, values: list[Any]) -> None:
        """Give an iteration an empty list in the place of each that it appends to."""
        self._forms, self._to_carry = {}, set()
        for n, one in self.appended.items():
            values[n] = one.begin()

    # -- what an iteration did ---------------------------------------------------------------------

    def has_new_form(self, n: int, old: Any, new: Any, symbols: set[Any]) -> bool:
        """See what an iteration left of a list; whether it gets another form.

        Args:
            n: the variable.
            old, new: its lists around the iteration.
            symbols: the sizes known at run time that exist outside of it.
        """
        if n in self.appended:
            return self._is_read(n, new, symbols)
        if old is new or n in self.carried or not all(isinstance(v, list) for v in (old, new)):
            return False
        if isinstance(old, Rows):
            if not isinstance(new, Rows) or (not isinstance(old, BuildingRows) and is_ragged(old)):
                return False
            form: Rows | None = old.like()
        else:
            form = _form_of_growing(old, new, symbols)
        if form is not None:
            self._forms[n] = form
        return form is not None

    def _is_read(self, n: int, after: Any, symbols: set[Any]) -> bool:
        """Whether an iteration does more with a list than to append to it."""
        if isinstance(after, BuildingRows) and after.loop_list is self.appended[n]:
            results = [x for x in after.results() if isinstance(x, torch.Tensor)]
            if all(free_unbacked_symbols(list(x.shape)) <= symbols for x in results):
                return False
        self._to_carry.add(n)  # another list, or as many items as only the iteration knows
        return True

    def begin_again(self) -> bool:
        """Give the lists the forms that an iteration has shown to be needed; whether of some."""
        for n in self._to_carry:
            self.carry(n)
        for n, form in self._forms.items():
            self._take_form(n, form)
        return bool(self._to_carry or self._forms)

    def grow(self, items: list[Any], added: Any, error: DisagreementError) -> None:
        """Make a list rows that an iteration adds an item to; the iteration begins anew."""
        state, before = self.variables.state, self.variables.before
        positions = [n for n in range(len(before)) if state.owner(n) is items]
        positions += [n for n, value in enumerate(before) if value is items]
        positions = [n for n in positions if n not in self.appended]
        if not positions or not self.variables.slots[positions[0]].live:
            raise LoopChangeError(error.name, error.left, error.right) from None
        self._take_form(positions[0], form_of_item(added, known_symbols()))

    def _take_form(self, n: int, form: Rows) -> None:
        """Append to a list, or carry it if its items have different sizes."""
        owner, before = self.variables.state.owner(n), self.variables.before[n]
        if owner is not None:
            check_own(owner)
        if is_ragged(form) and not isinstance(before, BuildingRows):
            self._carry_as(n, widened(before, form))
        else:
            self.variables.varying.pop(n, None)
            self.appended[n] = LoopList(before, form)

    def differ(self, error: UnevenItemError) -> None:
        """Make a list of rows one whose items differ in size; the iteration begins anew."""
        loop_list = getattr(error.items, "loop_list", None)
        positions = [n for n, mine in self.appended.items() if mine is loop_list]
        if not positions or len(error.dims) > 1 or len(error.items.form.paths()) > 1:
            raise error
        one = self.appended.pop(positions[0])
        self._carry_as(positions[0], widened(one.head, one.like.like(error.dims[0])))

    def carry_read(self, error: ListUseError) -> None:
        """Carry a list that iterations read, as an error says.

        Raises:
            ListUseError: the loop does not append to this list.
        """
        positions = [n for n, mine in self.appended.items() if mine is error.loop_list]
        if not positions:
            raise error
        self.carry(positions[0])

    def carry(self, n: int) -> None:
        """Carry a list that iterations do more with than to append to it."""
        one = self.appended.pop(n)
        if isinstance(one.head, BuildingRows):
            raise one.head.misuse("[...]")  # the loop around this one has to carry it
        self._carry_as(n, widened(one.head, one.like))

    def _carry_as(self, n: int, items: Rows) -> None:
        self.variables.begin_with(n, items)
        self.carried.add(n)

    # -- results -----------------------------------------------------------------------------------

    def scans(self, after: list[Any]) -> list[tuple[Carry, Any]]:
        """What an iteration appends: each as a carried value that no iteration reads.

        Args:
            after: the variables after an iteration.
        """
        scanned = []
        for n in self.appended:
            for leaf in after[n].results():
                dtype, shape = torch.bool, ()
                if isinstance(leaf, torch.Tensor):
                    dtype, shape = leaf.dtype, tuple(leaf.shape)
                name = f"an item of {self.variables.slots[n].name}"
                scanned.append((Carry(name, UNSET, dtype, shape, False), leaf))
        return scanned

    def rows(self, last: torch.Tensor) -> Any:
        """The rows of all iterations, of a value of the last one."""
        if self._count is None and self.trips is not None and self.trips.certain:
            self._count = _not_negative(self.trips.most)
        rows = scan_output(last, self._count, list(last.shape))
        if self._count is None:
            self._count = rows.shape[0]
        return rows


def _form_of_growing(old: Any, new: Any, symbols: set[Any]) -> Rows | None:
    """The form of a list of Python that an iteration gives another length; None for others."""
    if isinstance(new, Rows):
        return form_of_item(new, symbols)
    return form_of_item(item_of(old, new), symbols) if len(new) != len(old) else None


def _not_negative(trips: Any) -> Any:
    """How often a loop runs, of a number that is below 1 for never."""
    if not isinstance(trips, torch.Tensor):
        return torch.sym_max(trips, 0)
    count = trips.clamp(min=0).item()
    torch._check(count >= 0)
    return count


# -- `onnxwright::scan_output` ---------------------------------------------------------------------

# `while_loop` of torch gives what its last iteration leaves.  The body gives a row as one more
# carried value, which no iteration reads, and this operator stands for the rows of all iterations.
# In the ONNX model it is a scan output of Loop.


@torch.library.custom_op(  # type: ignore[untyped-decorator] # torch's own
    "onnxwright::scan_output", mutates_args=()
)
def scan_output(
    last: torch.Tensor,
    count: Optional[int],  # noqa: UP045 - torch reads the annotation
    sizes: Sequence[int],
) -> torch.Tensor:
    """The rows of all iterations, `[iterations, *sizes]`.

    Args:
        last: a result of `while_loop`, the row of the last iteration.
        count: how many iterations there are; None where only the model knows it.
        sizes: those of a row.
    """
    raise NotImplementedError("a scan output has its rows in the exported model only")


@scan_output.register_fake  # type: ignore[untyped-decorator] # torch's own
def _(last: Any, count: Any, sizes: Any) -> Any:
    if count is None:
        count = torch.library.get_ctx().new_dynamic_size()
    return last.new_empty([count, *sizes])
