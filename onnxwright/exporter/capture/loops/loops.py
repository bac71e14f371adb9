"""`while`, `for` and comprehensions of rewritten code."""

from __future__ import annotations

import dataclasses
import functools
import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import (
    free_unbacked_symbols,
)

from onnxwright.exporter.capture.assumptions.size_tests import empty_of, is_certain
from onnxwright.exporter.capture.control.runtime import noted
from onnxwright.exporter.capture.decisions.deciding import if_
from onnxwright.exporter.capture.decisions.operators import and_, not_
from onnxwright.exporter.capture.decisions.truth import as_truth, decided
from onnxwright.exporter.capture.graphs.regions import Region, tracer
from onnxwright.exporter.capture.lists import ranges
from onnxwright.exporter.capture.lists.ranges import counting
from onnxwright.exporter.capture.loops.carried_lists import Trips
from onnxwright.exporter.capture.loops.looping import Loop
from onnxwright.exporter.capture.session.errors import CannotRewriteError, LoopChangeError
from onnxwright.exporter.capture.session.model_lines import model_line
from onnxwright.exporter.capture.session.program_lists import List, is_rows, own_list
from onnxwright.exporter.capture.session.session import (
    current,
    fixed_places,
    note,
    note_iteration,
    refused_here,
)
from onnxwright.exporter.capture.values.going_through import Places, gone_through
from onnxwright.exporter.capture.values.iterators import LazyIterator, note_left, refuse_left, taken
from onnxwright.exporter.capture.values.list_writes import written
from onnxwright.exporter.capture.values.one_of import settled
from onnxwright.exporter.capture.values.one_sided import refuse_names
from onnxwright.exporter.capture.values.rows import Rows
from onnxwright.exporter.capture.values.sides import changes_nothing, places_of, side_of
from onnxwright.exporter.capture.values.state import UNSET, State

# The kind of a loop whose iterations only follow from the sizes of inputs.
LOOP_OVER_SIZE = "Loop over a size"
# More iterations that a tensor may end are a loop of the graph, where that works.
_UNROLLED = 6


@dataclass(frozen=True)
class _While:
    """The one form in which a loop becomes a Loop of the graph.

    Fields:
        test: whether it goes on, at a value of the counter.
        step: an iteration; gives the next value of the counter.
        state: what an iteration changes.
        start: the counter before the loop; None without one.
        trips: how often it runs, where that is known before it does.
        kind: what the report calls it.
    """

    test: Callable[[Any], Any]
    step: Callable[[Any], Any]
    state: State
    start: Any = None
    trips: Trips | None = None
    kind: str = "Loop"

    def emit(self) -> None:
        """Add the loop to the graph."""
        session = current()
        assert session is not None
        session.record(self.kind)
        with refused_here():
            Loop(self.test, self.step, self.state, self.start, self.trips).run()


def while_(
    test: Callable[[], Any],
    body: Callable[[], None],
    broken: Callable[[], Any] | None,
    state: State,
) -> None:
    """`while test: body`, left when `broken` is true."""

    def going(_: Any = None) -> Any:
        return test() if broken is None else and_(lambda: not_(broken()), test)

    loop, count, session = _While(going, lambda _: body(), state), 0, current()
    while True:
        condition = going()
        if session is not None and session.keeps_loops and _is_about_sizes(condition):
            if _is_kept(dataclasses.replace(loop, kind=LOOP_OVER_SIZE).emit, state):
                return
        answer = decided(condition)
        if answer is None:
            loop = _asked_in_iterations(condition, going, body, state) if _writes(going) else loop
            loop.emit()
            return
        if not answer:
            note("Loop", count > 0)
            return
        count += 1
        note_iteration(count)
        body()


def _writes(test: Callable[[], Any]) -> bool:
    """Whether a condition writes to something that was there before."""
    with Region() as region, side_of(test) as side:
        test()
        writes = side.end()
        region.discard()
    return bool(writes)


def _asked_in_iterations(
    first: Any, test: Callable[[], Any], body: Callable[[], None], state: State
) -> _While:
    """A loop whose condition writes: each iteration asks it at its end, and carries the answer."""
    answer = own_list([as_truth(first)])

    def iteration(_: Any) -> None:
        body()
        noted(answer)[0] = as_truth(test())

    return _While(lambda _: answer[0], iteration, state)


def _is_about_sizes(test: Any) -> bool:
    """Whether a condition follows from the sizes of inputs."""
    if not isinstance(test, torch.SymBool) or free_unbacked_symbols(test):
        return False
    return bool(test.node.expr.free_symbols) or empty_of(test) is not None


def for_(
    items: Any,
    take: Callable[[Any], None],
    body: Callable[[], None],
    broken: Callable[[], Any] | None,
    state: State,
) -> None:
    """`for take in items: body`, left when `broken` is true."""
    refuse_names(items)
    items, loop = gone_through(items), _For(take, body, broken, state)
    if isinstance(items, Places):
        loop.at_places(items)
        return
    refuse_left(items)
    iterator, items = items, taken(items, whole=broken is None)
    lists = [] if current() is None else [(one, one.held()) for one in _lists_of(items)]
    if current() is not None and tracer() is not None:
        items = loop.left_to_unroll(items)
    if items is None:
        _refuse_changed(lists)
        return
    if isinstance(items, Iterator) and broken is not None:
        items = _until(items, broken)
    loop.unrolled(items, iterator, lists)


def _lists_of(items: Any) -> list[Any]:
    """The lists that a loop over some items goes over: they are, or an iterator has them."""
    if isinstance(items, List):
        return [items]
    inner = gc.get_referents(items) if type(items) in _ITERATORS else ()
    return [one for item in inner for one in _lists_of(item)]


_ITERATORS: tuple[type, ...] = (
    type(iter([])), type(iter(())), type(reversed([])), enumerate, zip, reversed, tuple,
)  # fmt: skip


def _refuse_changed(lists: list[tuple[Any, Any]]) -> None:
    """Refuse that iterations change by a value how many items there are to go over."""
    if any(is_rows(one) and not one.is_same(before) for one, before in lists):
        with refused_here():
            reason = "a loop over a list that gets longer or shorter in it"
            advice = "go over a copy, `for x in list(items)`, or count: `while n < len(items)`"
            raise CannotRewriteError(reason, advice=advice)


def _until(items: Iterator[Any], broken: Callable[[], Any]) -> Iterator[Any]:
    """The items of an iterator; none is taken after `break`."""
    while (left := decided(broken())) is not True:
        with nullcontext() if left is False else changes_nothing(items):
            item = next(items, UNSET)
        if item is UNSET:
            return
        yield item


@dataclass(frozen=True)
class _For:
    """What a `for` does with the items that it goes over.

    Fields:
        take: binds the variables of the loop to an item.
        body: the rest of an iteration.
        broken: whether the loop has been left; None without `break`.
        state: what an iteration changes.
    """

    take: Callable[[Any], None]
    body: Callable[[], None]
    broken: Callable[[], Any] | None
    state: State

    def once(self, item: Any) -> None:
        """One iteration."""
        self.take(item)
        self.body()

    def goes_on(self, there: Any) -> Any:
        """Whether there is an item, and the loop has not been left."""
        broken = self.broken
        return there if broken is None else and_(lambda: not_(broken()), lambda: there)

    def unrolled(self, items: Iterable[Any], iterator: Any, lists: list[Any]) -> None:
        """The iterations one after the other; of more, which a tensor may end, a loop."""
        n = -1
        for n, item in enumerate(items):
            _refuse_changed(lists)
            left = False if self.broken is None else decided(self.broken())
            if left is None:
                assert self.broken is not None
                note_left(iterator)
                if isinstance(items, range) and len(items) - n > _UNROLLED:
                    rest = items[n:]
                    others = ranges.Counted(rest.start, rest.stop, rest.step, ranges.same)
                    if _failure(self.counted(others).emit, self.state) is None:
                        return
                again = functools.partial(self.once, item)
                if_(self.broken(), lambda: None, again, self.state)
                continue
            if left:
                note("If", answer=False)
                return
            note_iteration(n + 1)
            self.once(item)
        _refuse_changed(lists)
        note("Loop", n >= 0)
        if self.broken is not None:
            note("If", answer=True)

    def left_to_unroll(self, items: Any) -> Any:
        """Items whose number Python knows; None after a loop over others."""
        several = ranges.counted(items)
        if several is None:
            return items
        if several.most is not None:
            one_by_one = functools.partial(self.at_places, _first_places(several))
            if several.is_sized:
                return None if _is_kept(one_by_one, self.state) else several.unrolled()
            one_by_one()
            return None
        places = ranges.places(items)
        if places is not None:
            with fixed_places():
                error = _failure(self.counted(several).emit, self.state)
            if error is not None:
                self.at_places(
                    [(there, functools.partial(ranges.same, one)) for there, one in places]
                )
        elif not several.is_sized:
            self.counted(several).emit()
        elif not self.looped_over_size(several):
            return several.unrolled()  # the size becomes a number, of which the export warns
        return None

    def at_places(self, places: Iterable[tuple[Any, Callable[[], Any]]]) -> None:
        """Items that may not be there, as a decision for each: whether, and the item."""

        def again(item: Callable[[], Any]) -> None:
            self.once(item())

        session, written = current(), self.broken is not None
        for there, item in places:
            test = self.goes_on(there)
            if not written and session is not None and decided(test) is None:
                session.record("Loop")
            once = functools.partial(again, item)
            if_(test, once, lambda: None, self.state, written=written)

    def counted(self, items: ranges.Counted) -> _While:
        """A loop over as many items as are known at run time."""

        def once(count: Any) -> Any:
            with counting(count, items):
                self.once(items.item(count))
            return items.next(count)

        is_whole = self.broken is None
        return _While(
            lambda n: self.goes_on(items.more(n)), once, self.state, items.first(),
            Trips(items.length, is_whole),
            LOOP_OVER_SIZE if items.is_sized and is_whole else "Loop",
        )  # fmt: skip

    def looped_over_size(self, items: ranges.Counted) -> bool:
        """Whether it is a loop of the graph: the first iteration by itself if that helps.

        A loop whose variables are one kind of value each is preferred.
        """
        session = current()
        assert session is not None

        def first_alone() -> None:
            self.once(items.item(items.start))
            self.counted(dataclasses.replace(items, start=items.next(items.start))).emit()

        has_first = self.broken is None and is_certain(items.more(items.start))
        ways = [self.counted(items).emit, *([first_alone] if has_first else ())]
        errors: list[Exception] = []
        for is_fixed in (True, False) if has_first else (False,):
            session.fixed_forms += is_fixed
            try:
                for make in ways:
                    error = _failure(make, self.state)
                    if error is None:
                        session.unrolled.pop(model_line(), None)
                        return True
                    errors.append(error)
            finally:
                session.fixed_forms -= is_fixed
        is_of_form = isinstance(errors[0], LoopChangeError)
        session.unrolled.setdefault(model_line(), errors[-len(ways) if is_of_form else 0])
        return False


def _first_places(items: ranges.Counted) -> Iterator[tuple[Any, Callable[[], Any]]]:
    """Items of Python, of which the first ones are used, as places."""
    assert items.most is not None
    for n in range(int(items.start), items.most):
        there = items.more(n)
        if isinstance(there, torch.SymBool):
            there = as_truth(there)  # a size is asked at run time, too
        yield there, functools.partial(items.item, n)


def _is_kept(make: Callable[[], None], state: State) -> bool:
    """Whether a loop over a size can be made one of the graph; why not is remembered."""
    session, error = current(), _failure(make, state)
    if error is not None and session is not None:
        session.unrolled.setdefault(model_line(), error)
    return error is None


def _failure(make: Callable[[], None], state: State) -> Exception | None:
    """Why a loop of the graph cannot be made: the state is as before then; None where it is."""
    session = current()
    assert session is not None
    choices, chosen = dict(session.choices), list(session.chosen)
    before = state.read()
    try:
        with side_of(make) as side:
            make()
            side.keep()
    except Exception as error:  # the user's code may need a number of Python
        if getattr(error, "loop_list", None) is not None:
            raise  # the loop around this one carries its list
        session.choices, session.chosen = choices, chosen
        state.write(before)
        return error
    return None


# -- `[f(x) for x in items]`, `(f(x) for x in items)` and `items.extend(others)` -------------------


def listed(items: Any, item: Callable[[Any], Any], when: Callable[[Any], Any] | None = None) -> Any:
    """`[item(x) for x in items if when(x)]`."""
    if current() is None or tracer() is None:
        return List(item(x) for x in items if when is None or when(x))
    items = taken(items)
    if when is None and ranges.counted(items) is None:
        return List(item(x) for x in items)
    new_list, box = List(), [UNSET]

    def state() -> State:
        return State((), (), (), lambda _: None)

    def add() -> None:
        noted(new_list).append(settled(item(box[0])))

    def body() -> None:
        if when is None:
            add()
        else:
            if_(when(box[0]), add, lambda: None, state())

    def take(x: Any) -> None:
        box[0] = x

    for_(items, take, body, None, state())
    return new_list


def extend(items: Any, others: Any) -> Any:
    """`items.extend(others)`; gives the list."""
    others = taken(others)
    if isinstance(others, ranges.Counted):
        others = listed(others, ranges.same)
    if isinstance(others, Rows) and not isinstance(items, Rows):
        written(items, others.after(items))
    else:
        noted(items).extend(others)
    return items


def generated(
    items: Any, item: Callable[[Any], Any], when: Callable[[Any], Any] | None = None
) -> Any:
    """`(item(x) for x in items if when(x))`."""
    if current() is not None and tracer() is not None:
        refuse_left(items)
        if ranges.is_counted(items):
            return LazyIterator("generator", functools.partial(_generated_rows, items, item, when))
        if when is not None and (hasattr(items, "__len__") or type(items) in ranges.ITERATORS):
            items = list(iter(items))  # Python asks no length for `filter`
            with side_of(when):  # the conditions are asked again where Python asks them
                is_open = any(decided(when(x)) is None for x in items)
            if is_open:
                rows = functools.partial(_generated_rows, items, item, when)
                return LazyIterator("generator", rows)
    return (item(x) for x in items if when is None or when(x))


def _generated_rows(
    items: Any, item: Callable[[Any], Any], when: Callable[[Any], Any] | None
) -> Any:
    """All that a generator gives, and whether that changes something else."""
    with side_of(item, when) as side:
        all_items = listed(items, item, when)
        side.keep()
    if isinstance(all_items, Rows):
        all_items.changes_others = bool(places_of(side))
    return all_items
