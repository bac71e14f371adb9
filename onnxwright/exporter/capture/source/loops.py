"""`while`, `for` and comprehensions of rewritten code."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import (
    PendingUnbackedSymbolNotFound,
    free_unbacked_symbols,
    statically_known_true,
)

from onnxwright.exporter.capture.model_lines import model_line
from onnxwright.exporter.capture.source import ranges
from onnxwright.exporter.capture.source.aliases import is_for_tags
from onnxwright.exporter.capture.source.carried_lists import Trips
from onnxwright.exporter.capture.source.deciding import if_
from onnxwright.exporter.capture.source.errors import ListUseError, LoopChangeError
from onnxwright.exporter.capture.source.items import refuse_one_sided_names
from onnxwright.exporter.capture.source.iterators import note_left, refuse_left, taken
from onnxwright.exporter.capture.source.looping import Loop
from onnxwright.exporter.capture.source.operators import and_, not_
from onnxwright.exporter.capture.source.regions import tracer
from onnxwright.exporter.capture.source.session import (
    current,
    fixed_places,
    note,
    note_iteration,
    refused_here,
)
from onnxwright.exporter.capture.source.sides import has_new_keys, side_of
from onnxwright.exporter.capture.source.state import State
from onnxwright.exporter.capture.source.truth import as_truth, decided
from onnxwright.exporter.capture.source.windows import counting
from onnxwright.exporter.capture.values.going_through import Places, gone_through


def while_(
    test: Callable[[], Any],
    body: Callable[[], None],
    broken: Callable[[], Any] | None,
    state: State,
) -> None:
    """`while test: body`, left when `broken` is true."""

    def going(_: Any = None) -> Any:
        if broken is None:
            return test()
        return and_(lambda: not_(broken()), test)

    count = 0
    session = current()
    while True:
        found = going()
        if session is not None and session.keeps_loops and _is_about_sizes(found):
            if _worked(functools.partial(_while_sized, going, body, state), state):
                return
        answer = decided(found)
        if answer is None:
            _loop(going, lambda _: body(), state)
            return
        if not answer:
            note("Loop", count > 0)
            return
        count += 1
        note_iteration(count)
        body()


def _while_sized(going: Callable[[Any], Any], body: Callable[[], None], state: State) -> None:
    """A loop that ends by a size."""
    _loop(going, lambda _: body(), state, kind=LOOP_OVER_SIZE)


def _is_about_sizes(test: Any) -> bool:
    """Whether a condition follows from the sizes of inputs."""
    is_symbolic = isinstance(test, torch.SymBool) and test.node.expr.free_symbols
    return bool(is_symbolic) and not free_unbacked_symbols(test)


def for_(
    items: Any,
    take: Callable[[Any], None],
    body: Callable[[], None],
    broken: Callable[[], Any] | None,
    state: State,
) -> None:
    """`for take in items: body`, left when `broken` is true."""
    refuse_one_sided_names(items)
    items = gone_through(items)
    if isinstance(items, Places):
        _for_places(items, take, body, broken, state)
        return
    refuse_left(items)
    iterator = items
    items = taken(items, whole=broken is None)
    if current() is not None and tracer() is not None:
        items = _left_to_unroll(items, take, body, broken, state)
        if items is None:
            return
    if isinstance(items, Iterator) and broken is not None:
        items = _until(items, broken)
    n = -1
    for n, item in enumerate(items):
        if broken is not None:
            left = decided(broken())
            if left is None:
                note_left(iterator)
            if left is None:
                if isinstance(items, range) and len(items) - n > _UNROLLED:
                    left_over = items[n:]
                    counted = ranges.Counted(
                        left_over.start, left_over.stop, left_over.step, lambda count: count
                    )
                    if _looped(counted, take, body, broken, state):
                        return
                _unless(broken(), item, take, body, state)
                continue
            if left:
                note("If", answer=False)
                return
        note_iteration(n + 1)
        take(item)
        body()
    note("Loop", n >= 0)
    if broken is not None:
        note("If", answer=True)


def _until(items: Iterator[Any], broken: Callable[[], Any]) -> Iterator[Any]:
    """The items of an iterator; none is taken after `break`."""
    while decided(broken()) is not True:
        try:
            yield next(items)
        except StopIteration:
            return


def _left_to_unroll(
    items: Any,
    take: Callable[[Any], None],
    body: Callable[[], None],
    broken: Callable[[], Any] | None,
    state: State,
) -> Any:
    """Items whose number Python knows; None after a loop over others as a loop of the graph."""
    run_time = ranges.counted(items)
    if run_time is None:
        return items
    if run_time.most is not None:

        def go_through() -> None:
            _for_places(_first_places(run_time), take, body, broken, state)

        if not run_time.is_sized:
            go_through()
        elif not _worked(go_through, state):
            return run_time.unrolled()
        return None
    places = ranges.places(items)
    if places is not None:
        with fixed_places():
            looped = _looped(run_time, take, body, broken, state)
        if not looped:
            made = [(there, functools.partial(ranges.same, item)) for there, item in places]
            _for_places(made, take, body, broken, state)
        return None
    if not run_time.is_sized:
        _for_counted(run_time, take, body, broken, state)
        return None
    left_over = _after_loop(run_time, take, body, broken, state)
    if left_over is None:
        return None
    # The size becomes a number, of which the export warns.
    return left_over.unrolled()


# The kind of a loop whose iterations only follow from the sizes of inputs.
LOOP_OVER_SIZE = "Loop over a size"
# More iterations that a tensor may end are a loop of the graph, where that works.
_UNROLLED = 6


def _looped(
    items: ranges.Counted,
    take: Callable[[Any], None],
    body: Callable[[], None],
    broken: Callable[[], Any] | None,
    state: State,
) -> bool:
    """A loop as a loop of the graph; whether that worked."""
    return _worked(lambda: _for_counted(items, take, body, broken, state), state)


def _worked(make_loop: Callable[[], None], state: State) -> bool:
    """Whether a loop of the graph can be made; if not, the state is as before."""
    session = current()
    assert session is not None
    choices, chosen = dict(session.choices), list(session.chosen)
    state.open()
    before = state.read()
    try:
        with side_of(make_loop) as side:
            make_loop()
            side.keep()
    except Exception as error:  # the user's code may need a number of Python
        if isinstance(error, PendingUnbackedSymbolNotFound) and torch.is_grad_enabled():
            raise  # without gradients it may work
        if is_for_tags(error):
            raise
        if isinstance(error, ListUseError) and any(
            loop.lists.has(error.loop_list) for loop in session.loops
        ):
            raise  # the loop around this one carries its list
        session.unrolled.setdefault(model_line(), error)
        session.choices, session.chosen = choices, chosen
        state.setter(before)  # the places are those of the objects that variables had before
        state.open()
        state.write(before)
        return False
    return True


def _after_loop(
    items: ranges.Counted,
    take: Callable[[Any], None],
    body: Callable[[], None],
    broken: Callable[[], Any] | None,
    state: State,
) -> ranges.Counted | None:
    """A loop over a size as a loop of the graph; the items that are left where that fails.

    Variables may have their types from the first iteration on only: it is then one by itself.
    """
    session = current()
    assert session is not None
    certain = broken is None and statically_known_true(items.more(items.start))
    if certain and _peeled(items, take, body, state):
        return None
    if _looped(items, take, body, broken, state):
        session.unrolled.pop(model_line(), None)
        return None
    if not certain:
        return items
    with side_of(take, body) as side:
        take(items.item(items.start))
        body()
        side.keep()
    rest = dataclasses.replace(items, start=items.next(items.start))
    # A dict that got a key in the first iteration gets others in the next ones.
    if has_new_keys(side) or not _looped(rest, take, body, broken, state):
        return rest
    session.unrolled.pop(model_line(), None)
    return None


def _peeled(
    items: ranges.Counted,
    take: Callable[[Any], None],
    body: Callable[[], None],
    state: State,
) -> bool:
    """A loop whose variables are one kind of value each, the first iteration by itself or not."""

    def first_alone() -> None:
        take(items.item(items.start))
        body()
        rest = dataclasses.replace(items, start=items.next(items.start))
        _for_counted(rest, take, body, None, state)

    session = current()
    assert session is not None
    session.fixed_forms += 1
    try:
        if _looped(items, take, body, None, state):
            return True
        error = session.unrolled[model_line()]
        if not isinstance(error, LoopChangeError):
            return False
        session.unrolled.pop(model_line())
        if _worked(first_alone, state):
            return True
        session.unrolled.pop(model_line())
        return False
    finally:
        session.fixed_forms -= 1


def _for_places(
    places: Iterable[tuple[Any, Callable[[], Any]]],
    take: Callable[[Any], None],
    body: Callable[[], None],
    broken: Callable[[], Any] | None,
    state: State,
) -> None:
    """A loop over items that may not be there, as a decision for each: whether, and the item."""

    def again(item: Callable[[], Any]) -> None:
        take(item())
        body()

    session = current()
    for there, item in places:
        test, once = _more(there, broken), functools.partial(again, item)
        if broken is None and session is not None and decided(test) is None:
            session.record("Loop")
        if_(test, once, lambda: None, state, written=broken is not None)


def _first_places(items: ranges.Counted) -> Iterator[tuple[Any, Callable[[], Any]]]:
    """Items of Python, of which the first ones are used, as places."""
    assert items.most is not None
    for n in range(int(items.start), items.most):
        there = items.more(n)
        if isinstance(there, torch.SymBool):
            there = as_truth(there)  # a size is asked at run time, too
        yield there, functools.partial(items.item, n)


def _more(there: Any, broken: Callable[[], Any] | None) -> Any:
    """Whether a loop goes on: there is an item, and the loop has not been left."""
    return there if broken is None else and_(lambda: not_(broken()), lambda: there)


def _unless(
    broken: Any, item: Any, take: Callable[[Any], None], body: Callable[[], None], state: State
) -> None:
    """One iteration of a loop that a tensor may have left."""

    def again() -> None:
        take(item)
        body()

    if_(broken, lambda: None, again, state)


def _for_counted(
    items: ranges.Counted,
    take: Callable[[Any], None],
    body: Callable[[], None],
    broken: Callable[[], Any] | None,
    state: State,
) -> None:
    """A loop over as many items as are known at run time."""

    def going(count: Any) -> Any:
        return _more(items.more(count), broken)

    def once(count: Any) -> Any:
        with counting(count, items):
            take(items.item(count))
            body()
        return items.next(count)

    kind = LOOP_OVER_SIZE if items.is_sized and broken is None else "Loop"
    _loop(going, once, state, items.first(), Trips(items.length, broken is None), kind)


def _loop(
    test: Callable[[Any], Any],
    body: Callable[[Any], Any],
    state: State,
    counter: Any = None,
    trips: Trips | None = None,
    kind: str = "Loop",
) -> None:
    session = current()
    assert session is not None
    session.record(kind)
    with refused_here():
        Loop(test, body, state, counter, trips).run()
