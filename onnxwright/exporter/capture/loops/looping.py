"""Loops whose number of iterations a tensor decides, as `while_loop`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from onnxwright.exporter.capture.control.places import Place
from onnxwright.exporter.capture.control.store import Side
from onnxwright.exporter.capture.decisions.truth import as_truth
from onnxwright.exporter.capture.graphs.emitting import known_symbols
from onnxwright.exporter.capture.graphs.regions import SYMBOLS, Part, Region
from onnxwright.exporter.capture.lists.list_forms import rows_kept
from onnxwright.exporter.capture.loops.carried_lists import CarriedLists, Trips, Variables
from onnxwright.exporter.capture.loops.carries import (
    Carry,
    OwnSize,
    begun_with,
    carried,
    constants_of,
    emit_loop,
    input_of,
    is_guessed,
    leaf_paths,
    leaves_at,
    mark_carried,
    still_carried,
    with_leaves,
)
from onnxwright.exporter.capture.loops.loop_aliases import CarriedObjects, LoopAliases, to_carry
from onnxwright.exporter.capture.session.errors import (
    ChangedInPlaceError,
    DisagreementError,
    ListUseError,
    LoopChangeError,
    UnevenItemError,
    words,
)
from onnxwright.exporter.capture.session.model_lines import returned_places
from onnxwright.exporter.capture.session.program_lists import is_rows
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.aliases import new_writes, settle
from onnxwright.exporter.capture.values.chosen_objects import chosen_so_far, take_chosen
from onnxwright.exporter.capture.values.join import Merger, form_of, grows_again, widen
from onnxwright.exporter.capture.values.one_of import OneOf, possible
from onnxwright.exporter.capture.values.parts import is_leaf, is_same_items, items_of, leaves_of
from onnxwright.exporter.capture.values.sides import end_side, side_of
from onnxwright.exporter.capture.values.state import UNSET, State


class Loop:
    """A loop in the making.

    Args:
        test: gives the condition to go on; reads the variables.
        body: one iteration.
        state: what an iteration changes.
        counter: the first value of a counter that `test` and `body` take; None without.
        trips: how often it runs, where that is known before it does.
        guesses: whether what has a tensor or a number before the loop, and is bound in it, is
            carried from the first trace of an iteration on.
    """

    def __init__(
        self,
        test: Callable[[Any], Any],
        body: Callable[[Any], None],
        state: State,
        counter: Any = None,
        trips: Trips | None = None,
        *,
        guesses: bool = True,
    ) -> None:
        self.test, self.body, self.state, self.counter = test, body, state, counter
        self.slots = state.slots()
        self.before, self.chosen = state.read(), chosen_so_far()
        self.original = list(self.before)
        self.variables = Variables(state, self.slots, self.before)
        self.varying = self.variables.varying
        self.lists = CarriedLists(self.variables, trips)
        self.aliases = LoopAliases()
        # Slots that cannot be carried, with what an iteration leaves in them.
        self.left: dict[int, Any] = {}
        self.numbers: list[Carry] = []
        if counter is not None:
            number = not isinstance(counter, torch.Tensor)
            self.numbers = [Carry("the counter", counter, torch.int64, (), number)]
        # Slots that are carried in the first trace; those of them that an iteration changes stay.
        self.guessed: set[int] = set()
        if guesses:
            self._guess()

    def run(self) -> Any:
        """Build the loop; the state has its results afterwards.

        Returns:
            The counter after the last iteration; None without one.

        Raises:
            LoopChangeError: what is carried changes its kind.
        """
        if not self.guessed:
            return self._run()
        session = current()
        assert session is not None
        choices = dict(session.choices)
        try:
            return self._run()
        except Exception:  # noqa: BLE001 - an iteration may need a number that does not change
            take_chosen(self.chosen)
            session.choices = choices
            self.state.write(self.original)
        trips = self.lists.trips
        return Loop(self.test, self.body, self.state, self.counter, trips, guesses=False).run()

    def _guess(self) -> None:
        """Carry what has a tensor or a number now, if an iteration binds it and reads it before."""
        for n, slot in enumerate(self.slots):
            value = self.before[n]
            if not slot.live or not self.state.is_taken(n) or not is_guessed(value):
                continue
            in_place = slot.name in self.state.augmented and isinstance(value, torch.Tensor)
            if self.state.owner(n) is None and not in_place:
                self.varying[n] = [begun_with(*leaf) for leaf in leaf_paths(value, slot.name)]
                self.guessed.add(n)

    def _run(self) -> Any:
        seen = set()
        while True:
            try:
                if not self._try():
                    break
            except ListUseError as error:
                self._carry_read(error)
            # There are finitely many forms: the search ends.
            form = self._form()
            if form in seen:
                raise self._no_form()
            seen.add(form)
        try:
            return self._build()
        except ListUseError as error:
            self._carry_read(error)
            return self._run()

    def _form(self) -> Any:
        """What is carried, without values."""
        varying = [
            (n, c.path, c.dtype, tuple(s if isinstance(s, OwnSize) else 0 for s in c.shape))
            for n, carries in self.varying.items() for c in carries
        ]  # fmt: skip
        lists = tuple(self.lists.appended), tuple(self.lists.carried)
        aliases = tuple(self.aliases.form())
        return frozenset(varying), lists, tuple(map(form_of, self.before)), aliases

    def _no_form(self) -> LoopChangeError:
        """The error for a loop whose iterations change what is carried each time."""
        paths = [c.path for carries in self.varying.values() for c in carries]
        return LoopChangeError(
            [*paths, self.slots[0].name][0], "of another type", "of another again"
        )

    # -- what is carried ---------------------------------------------------------------------------

    def _try(self) -> bool:
        """Run an iteration to see what it changes; whether that is more than was known."""
        count, functions = chosen_so_far(), (self.test, self.body)
        self.sizes = known_symbols()
        try:
            with Region() as region, side_of(*functions) as written:
                self.outside = region.knows_before
                values = self._start(region)
                self.state.write(values)
                before, iteration_inputs = self._varying(self.before), self._varying(values)
                names = [slot.name for slot in self.slots]
                objects = CarriedObjects(before, iteration_inputs, count, returned_places(names))
                lists = self._own_lists(values)
                again = self.body(self._count)
                settle(new_writes())
                left = [to_carry(v, self.outside, written) for v in self.state.read()]
                after = rows_kept(values, left)
                for n, items in lists.items():
                    if not is_same_items(values[n], items):
                        is_left = after[n] is values[n]
                        values[n], after[n] = items, items_of(after[n]) if is_left else after[n]
                owners = [entry.place.owner for entry in written.log.values()]
                objects.note_iteration(self._carried_after(values, after), owners)
                self.state.setter(self.before)
                late = end_side(written, self.state, *functions)
                self.state.write(self.before)
                held = self._add_places([place for place, _ in late])
                values += held
                after += rows_kept(held, [value for _, value in late])
                changed = self._widen(values, after) or bool(late)
                if not changed:
                    leaves, changed = self._leave(region, after, again)
                if changed:
                    region.discard()
                    take_chosen(count)
                else:
                    objects.check()
                    self.objects = objects
                    self.iteration = self._closed(region, after, leaves)
        except (UnevenItemError, DisagreementError) as error:
            take_chosen(count)
            self.state.write(self.before)
            if self._know_grown(written):
                pass
            elif isinstance(error, UnevenItemError):
                self.lists.differ(error)
            elif error.grows is not None:
                self.lists.grow(*error.grows, error)
            else:
                raise
            return True
        self.lists.begin_again()
        return changed

    def _widen(self, values: list[Any], after: list[Any]) -> bool:
        """Carry what an iteration changed; whether another iteration has to be seen.

        Args:
            values: what the slots are before the iteration.
            after: what they are after it; aligned with what they are before.
        """
        changed = False
        for n, slot in enumerate(self.slots):
            if slot.live and self.lists.has_new_form(n, values[n], after[n], self.sizes):
                changed = True
                continue
            if n in self.lists.appended:
                continue
            if n in self.guessed:
                changed |= self._drop_unchanged(n, values[n], after[n])
            if slot.live and after[n] is not values[n]:
                changed |= self._align(n, values, after)
                changed |= self._vary_or_leave(n, values, after)
        return changed

    def _add_places(self, places: list[Place]) -> list[Any]:
        """Know of more places, which an iteration wrote to; what they hold."""
        held = self.state.add(places)
        self.slots[:] = self.state.slots()
        self.before += held
        self.original += held
        return list(held)

    def _know_grown(self, written: Side) -> bool:
        """Know of the lists that an iteration, before it failed, gave rows; whether of more."""
        for write in written.writes:
            if is_rows(write.after) and not self.state.has(write.place):
                self._add_places([write.place])
                self.lists.has_new_form(len(self.before) - 1, write.before, write.after, self.sizes)
        return self.lists.begin_again()

    def _drop_unchanged(self, n: int, before: Any, after: Any) -> bool:
        """Do not carry what an iteration leaves as it is; whether there was such."""
        self.guessed.discard(n)
        carries = self.varying.get(n, [])
        self.varying[n] = still_carried(carries, before, after, self.slots[n].name)
        is_less = len(self.varying[n]) < len(carries)
        if not self.varying[n]:
            del self.varying[n]
        return is_less

    def _carried_after(self, values: list[Any], after: list[Any]) -> dict[int, Any]:
        """The values after an iteration of the slots that are carried, or will be."""
        return {
            n: after[n] for n, slot in enumerate(self.slots)
            if n in self.varying
            or (slot.live and not self.state.is_taken(n) and after[n] is not values[n])
        }  # fmt: skip

    def _varying(self, values: list[Any]) -> dict[int, Any]:
        """The values of the slots that are carried."""
        appended = [n for n in self.lists.appended if self.state.owner(n) is None]
        return {n: values[n] for n in (*self.varying, *appended)}

    def _own_lists(self, values: list[Any]) -> dict[int, Any]:
        """The items of the lists that stand for those of variables in an iteration."""
        return {n: items_of(value) for n, value in enumerate(values)
                if isinstance(value, list) and value is not self.before[n]
                and self.state.owner(n) is None}  # fmt: skip

    def _carry_read(self, error: ListUseError) -> None:
        """Begin anew with a list carried, if an error says that an iteration reads it."""
        take_chosen(self.chosen)
        self.state.write(self.before)
        self.lists.carry_read(error)

    def _align(self, n: int, values: list[Any], after: list[Any]) -> bool:
        """Carry a slot in the form that it has before and after; whether that is another one."""
        items = self.state.owner(n) is not None
        start = widen(self.before[n], after[n], self.outside, items=items)
        changed = start is not self.before[n]
        session = current()
        if changed and session is not None and session.fixed_forms:
            raise LoopChangeError(self.slots[n].name, words(self.before[n]), words(after[n]))
        if grows_again(self.before[n], start):
            left = after[n]
            if isinstance(left, OneOf):
                left = next(iter(possible(left).values()))
            raise LoopChangeError(self.slots[n].name, words(self.original[n]), words(left))
        if changed:
            self.before[n] = start
            values[n] = widen(values[n], after[n], self.outside, items=items)
            leaves = {path for path, _ in leaf_paths(start, self.slots[n].name)}
            # A leaf that is one of several values now is carried by its tag and its candidates.
            kept = [c for c in self.varying.get(n, ()) if c.path in leaves or c.start is UNSET]
            if n in self.varying:
                self.varying[n] = kept
        if not is_leaf(start):  # a number that becomes a tensor has the shape of the tensor
            after[n] = widen(after[n], start, self.outside, items=items)
        return changed

    def _vary_or_leave(self, n: int, values: list[Any], after: list[Any]) -> bool:
        """Carry a slot; what only a called function changes fails where it is read."""
        contents = self.state.contents(values), self.state.contents(after)
        merger = Merger(contents, in_loop=True, outside=self.outside)
        try:
            return self._vary(n, merger, values[n], after[n])
        except LoopChangeError:
            if not self.state.fails_unset(n) or not leaves_of(after[n]):
                raise
            self.left[n] = UNSET
            return False

    def _vary(self, n: int, merger: Merger, before: Any, after: Any) -> bool:
        """Carry a slot; whether it was not, or its type is another now."""
        name = self.slots[n].name
        if after is UNSET and before is not UNSET:
            # A decision of the iteration lost it, for one of its sides has a constant of Python.
            raise LoopChangeError(name, words(before), "lost by a decision")
        try:
            merger.merge(before, after, name, items=self.state.owner(n) is not None)
        except DisagreementError as error:
            raise LoopChangeError(error.name, error.left, error.right) from None
        if self.original[n] is UNSET:
            self.state.note_one_sided(n)  # not set where no iteration runs
        self.state.note_inherited(n, in_loop=True)
        start = dict(leaf_paths(self.before[n], name))
        carries = self.varying.get(n, [])
        self.varying[n], is_new, is_other = carried(merger.pairs, carries, start, self.sizes)
        return is_other or (is_new and self.state.is_taken(n))

    # -- inputs ------------------------------------------------------------------------------------

    def _start(self, region: Region) -> list[Any]:
        """The slots with what is carried as inputs of a region."""
        self._count = None
        self.inputs: dict[int, fx.Node] = {}
        for carry in self.numbers:
            self._count = self._input(region, carry)
        values, every = list(self.before), dict[int, Any]()
        for n, carries in self.varying.items():
            inputs_by_path = {c.path: self._input(region, c) for c in carries}
            values[n] = with_leaves(values[n], self.slots[n].name, inputs_by_path)
            every |= {id(c): inputs_by_path[c.path] for c in carries}
        self.aliases.know(self._carries())
        tags = {key: self._input(region, tag) for key, tag in self.aliases.tags.items()}
        self.aliases.note(every, tags)
        self.lists.begin_iteration(values)
        for n in self.lists.carried:
            if self.state.owner(n) is None:  # what changes it leaves the list of before as it is
                values[n] = items_of(values[n])
        return values

    def _input(self, region: Region, carry: Carry) -> Any:
        tensor = input_of(region, carry)
        self.inputs[id(carry)] = region.input_nodes[-1]
        return tensor

    def _carries(self) -> list[Carry]:
        varying = [c for carries in self.varying.values() for c in carries]
        return [*self.numbers, *varying, *self.aliases.tags.values()]

    # -- the loop ----------------------------------------------------------------------------------

    def _build(self) -> Any:
        carries = self._carries()
        body, after, leaves = self.iteration
        with Region() as region, side_of(self.test) as written:
            values = self._start(region)
            self.state.write(values)
            going = as_truth(self.test(self._count))
            written.end()
            self.state.write(self.before)
            test = region.close([going])
        if test.written:  # the condition would be computed of what the iteration leaves
            raise ChangedInPlaceError("Tensor")
        results = emit_loop(test, going, body, [*zip(carries, leaves)], self.lists.scans(after))
        tensors = {id(c): x for c, x in zip(carries, results)}
        tags = {key: tensors[id(c)] for key, c in self.aliases.tags.items()}
        mark_carried(self.aliases.tags.values(), tags.values())
        self.aliases.note(tensors, tags)
        taken = iter(results)
        final = [self.left.get(n, value) for n, value in enumerate(self.before)]
        count = next(taken) if self.numbers else None
        for n, slot_carries in self.varying.items():
            leaves_by_path = {c.path: next(taken) for c in slot_carries}
            mark_carried(slot_carries, leaves_by_path.values())
            if self.lists.trips is not None and self.lists.trips.has_one():
                leaves_by_path |= constants_of(after[n], self.slots[n].name)
            final[n] = with_leaves(after[n], self.slots[n].name, leaves_by_path)
        for _ in tags:
            next(taken)
        for n in self.lists.appended:
            rows = [self.lists.rows(next(taken)) for _ in after[n].results()]
            if rows:
                final[n] = after[n].after_loop(rows)
                for column, items in after[n].appended(final[n], self.items[n]):
                    self.aliases.note_items(column, items, tensors)
        self.state.write(final)
        self.objects.note_results(self._varying(final))
        return count

    def _leave(self, region: Region, after: list[Any], again: Any) -> tuple[list[Any], bool]:
        """What is carried at the end of an iteration; whether it has to be traced again."""
        leaves: list[Any] = [again] if self.numbers else []
        for n, slot_carries in self.varying.items():
            leaves += leaves_at(slot_carries, after[n], self.slots[n].name)
        self.aliases.know(self._carries())
        carries = self._carries()
        # No iteration reads what is not an input of it yet.
        inputs = {id(c): self._input(region, c) for c in carries if id(c) not in self.inputs}
        self.aliases.give_tags(inputs)
        input_nodes = {id(c): self.inputs[id(c)] for c in carries if not c.is_number}
        tags, changed = self.aliases.leave(region, [*zip(carries, leaves)], input_nodes)
        return [*leaves, *(tags[key] for key in self.aliases.tags)], changed

    def _closed(
        self, region: Region, after: list[Any], leaves: list[Any]
    ) -> tuple[Part, list[Any], list[Any]]:
        """The graph of an iteration that changes what is carried and nothing else.

        Returns:
            It, the slots at its end, and what is carried then, in order.
        """
        region.input_nodes = [self.inputs[id(carry)] for carry in self._carries()]
        traced = (torch.Tensor, *SYMBOLS)
        self.items = {
            n: [self.aliases.appended(region, leaf) for leaf in after[n].results()]
            for n in self.lists.appended
        }
        outputs = [*leaves, *(leaf for _, leaf in self.lists.scans(after))]
        part = region.close([v for v in outputs if isinstance(v, traced)])
        return part, after, leaves
