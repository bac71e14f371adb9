"""`while`, `for` and comprehensions of rewritten code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from onnxwright.exporter.capture.source import ranges
from onnxwright.exporter.capture.source.deciding import if_
from onnxwright.exporter.capture.source.effects import MorePlacesError
from onnxwright.exporter.capture.source.lists import append
from onnxwright.exporter.capture.source.looping import Loop, Trips
from onnxwright.exporter.capture.source.operators import and_, not_
from onnxwright.exporter.capture.source.regions import tracer
from onnxwright.exporter.capture.source.session import current, note, refused_here
from onnxwright.exporter.capture.source.state import UNSET, State
from onnxwright.exporter.capture.source.truth import decided


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

    ran = False
    while True:
        answer = decided(going())
        if answer is None:
            _loop(going, lambda _: body(), state)
            return
        if not answer:
            note("Loop", ran)
            return
        ran = True
        body()


def for_(
    items: Any,
    take: Callable[[Any], None],
    body: Callable[[], None],
    broken: Callable[[], Any] | None,
    state: State,
) -> None:
    """`for take in items: body`, left when `broken` is true."""
    if current() is not None and tracer() is not None:
        run_time = ranges.counted(items)
        if run_time is not None:
            places = ranges.places(items)
            if places is None:
                _for_counted(run_time, take, body, broken, state)
            elif not _looped(run_time, take, body, broken, state):
                _for_places(places, take, body, broken, state)
            return
    n = -1
    for n, item in enumerate(items):
        if broken is not None:
            left = decided(broken())
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
        take(item)
        body()
    note("Loop", n >= 0)
    if broken is not None:
        note("If", answer=True)


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
    session = current()
    assert session is not None
    choices = dict(session.choices)
    state.open()
    before = state.read()
    try:
        _for_counted(items, take, body, broken, state)
    except Exception:  # noqa: BLE001 - the user's code may need a number of Python
        session.choices = choices
        state.open()
        state.write(before)
        return False
    return True


def _for_places(
    places: list[tuple[Any, Any]],
    take: Callable[[Any], None],
    body: Callable[[], None],
    broken: Callable[[], Any] | None,
    state: State,
) -> None:
    """A loop over the places that are true, as a decision for each place."""

    def again(item: Any) -> None:
        take(item)
        body()

    for there, item in places:
        if_(_more(there, broken), functools.partial(again, item), lambda: None, state)


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
        take(items.item(count))
        body()
        return items.next(count)

    _loop(going, once, state, items.first(), Trips(items.length, broken is None))


def _loop(
    test: Callable[[Any], Any],
    body: Callable[[Any], Any],
    state: State,
    counter: Any = None,
    trips: Trips | None = None,
) -> None:
    session = current()
    assert session is not None
    session.record("Loop")
    with refused_here():
        while True:
            try:
                Loop(test, body, state, counter, trips).run()
                return
            except MorePlacesError as more:
                state.add(more.places)


def listed(items: Any, item: Callable[[Any], Any]) -> Any:
    """`[item(x) for x in items]`."""
    if current() is None or tracer() is None or ranges.counted(items) is None:
        return [item(x) for x in items]
    box: list[Any] = [[], UNSET]

    def put(values: Sequence[Any]) -> None:
        box[0] = values[0]

    def body() -> None:
        box[0] = append(box[0], item(box[1]))

    def take(x: Any) -> None:
        box[1] = x

    name = ("the list",)
    state = State(name, name, (lambda: box[0],), put, (lambda: (box[0], None),))
    for_(items, take, body, None, state)
    return box[0]
