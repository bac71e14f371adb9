"""What rewritten code calls: each decision asked at run time.

Outside a capture by source, and for plain values, each does what Python does.
"""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, free_unbacked_symbols
from torch.utils._python_dispatch import _disable_current_modes

from onnxwright.exporter.capture.source import ranges
from onnxwright.exporter.capture.source.choosing import place_of, result_of
from onnxwright.exporter.capture.source.conditional import conditional
from onnxwright.exporter.capture.source.lists import Grown, append, length_of
from onnxwright.exporter.capture.source.looping import Loop, Trips, as_truth
from onnxwright.exporter.capture.source.merging import UNSET
from onnxwright.exporter.capture.source.one_of import picked
from onnxwright.exporter.capture.source.regions import SYMBOLS, Region, tracer
from onnxwright.exporter.capture.source.session import current, note, refused_here
from onnxwright.exporter.capture.source.state import State

__all__ = [
    "State", "and_", "append", "assert_", "augment", "builtin", "chain", "choose", "contains",
    "for_", "if_", "is_", "is_unset", "item", "listed", "not_", "or_", "shown", "while_",
]  # fmt: skip


def is_unset(value: Any) -> bool:
    """Whether a variable is to have no value."""
    return value is UNSET


def decided(test: Any) -> bool | None:
    """The answer of Python to a test; None if it is known at run time only."""
    if isinstance(test, bool):
        return test
    if isinstance(test, Grown):
        return decided(test.length > 0)
    if isinstance(test, torch.Tensor):
        t = tracer()
        if current() is None or t is None:
            return bool(test)
        proxy = t.tensor_tracker.get(test)
        if proxy is None:
            return bool(test)
        if proxy.constant is not None:
            with _disable_current_modes(), torch._C.DisableTorchFunction():
                return bool(proxy.constant)
        return None
    if isinstance(test, SYMBOLS) and current() is not None and free_unbacked_symbols(test):
        try:
            return bool(test)
        except GuardOnDataDependentSymNode:
            return None
    return bool(test)


def if_(
    test: Any,
    then: Callable[[], None],
    orelse: Callable[[], None],
    state: State,
    then_raises: bool = False,
    else_raises: bool = False,
    written: bool = True,
) -> None:
    """`if test: then` `else: orelse`; not `written` by the user, but by the passes for exits."""
    answer = decided(test)
    session = current()
    if answer is None and session is not None:
        if then_raises != else_raises:
            session.record("check left out")
            answer = else_raises
        else:
            answer = session.answer()
            if answer is not None:
                session.record("assumed")
    if answer is not None:
        if written:
            note("If", answer)
        (then if answer else orelse)()
        return
    assert session is not None
    with refused_here():
        if conditional(as_truth(test), then, orelse, state) and written:
            session.record("If")


def choose(test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """`then if test else orelse`."""
    answer = decided(test)
    if answer is not None:
        note("If", answer)
        return (then if answer else orelse)()
    return result_of(functools.partial(if_, test), then, orelse)


def item(value: Any, index: Any) -> Any:
    """`value[index]`: the item of a list may be known at run time only."""
    if isinstance(value, _LISTS) and isinstance(index, (torch.Tensor, *SYMBOLS)) and value:
        if current() is not None and _is_unknown(index):
            return picked(index, list(value))
    if type(value) is dict and isinstance(index, (torch.Tensor, *SYMBOLS)) and value:
        if current() is not None and _is_unknown(index) and {type(k) for k in value} == {int}:
            return picked(place_of(index, list(value)), list(value.values()))
    return value[index]


_LISTS = (list, tuple, torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ParameterList)


def _is_unknown(number: Any) -> bool:
    """Whether a number is known at run time only."""
    if not isinstance(number, torch.Tensor):
        return bool(free_unbacked_symbols(number))
    t = tracer()
    proxy = None if t is None or number.numel() != 1 else t.tensor_tracker.get(number)
    return proxy is not None and proxy.constant is None


def is_(value: Any, constant: bool) -> Any:
    """`value is constant`, of True or False: what stands for a truth value of Python is one."""
    session = current()
    if session is None or isinstance(value, bool):
        return value is constant
    if isinstance(value, torch.SymBool) or (_is_truth(value) and value in session.numbers):
        return value if constant else not_(value)
    return value is constant


def not_(value: Any) -> Any:
    """`not value`."""
    answer = decided(value)
    return not answer if answer is not None else torch.logical_not(as_truth(value))


def and_(*parts: Callable[[], Any]) -> Any:
    """`a and b and ...`."""
    return _logic(parts, stop=False)


def or_(*parts: Callable[[], Any]) -> Any:
    """`a or b or ...`."""
    return _logic(parts, stop=True)


def _logic(parts: Sequence[Callable[[], Any]], stop: bool) -> Any:
    """The first part whose truth is `stop`, or the last."""
    value: Any = None
    for n, part in enumerate(parts):
        value = part()
        if n == len(parts) - 1:
            return value
        answer = decided(value)
        if answer is None:
            return _logic_of_tensors(value, parts[n + 1 :], stop)
        if answer is stop:
            return value
    return value


def _logic_of_tensors(value: Any, rest: Sequence[Callable[[], Any]], stop: bool) -> Any:
    """The same where the first part is known at run time only."""

    def others() -> Any:
        return _logic(rest, stop)

    if _is_truth(value):
        # Truth values of both: nothing but the answer is used.
        found = _plain(others)
        if found is stop:
            return found  # whatever the first part is
        if found is not None:
            join = torch.logical_or if stop else torch.logical_and
            return join(as_truth(value), as_truth(found))
    if stop:
        return choose(value, lambda: value, others)
    return choose(value, others, lambda: value)


def _is_truth(value: Any) -> bool:
    return isinstance(value, (bool, torch.SymBool)) or (
        isinstance(value, torch.Tensor) and value.dtype == torch.bool and not value.ndim
    )


def _plain(part: Callable[[], Any]) -> Any:
    """A truth value that is computed without reading at a place or deciding; None for others."""
    with Region() as region:
        found = part()
        node = region.mark.next
        safe = _is_truth(found)
        while node.op != "root":
            text = str(node.target)
            if node.op == "call_function" and any(word in text for word in _PLACES):
                safe = False
            node = node.next
        if safe:
            return found
        region.discard()
    return None


# Operators that fail for some values: they run only if Python reaches them.
_PLACES = (
    "index", "select", "slice", "gather", "take", "narrow", "higher_order", "cond", "while_loop",
    "local_scalar", "embedding", "put",
)  # fmt: skip


def augment(name: str, value: Any, other: Any) -> Any:
    """`value += other` and the like: not in place for what stands for a number of Python."""
    session = current()
    if session is not None and isinstance(value, torch.Tensor) and value in session.numbers:
        result = getattr(operator, name)(value, other)
        if isinstance(result, torch.Tensor) and not result.ndim:
            session.numbers.add(result)
        return result
    return getattr(operator, f"i{name.strip('_')}")(value, other)


def chain(names: Sequence[str], *parts: Callable[[], Any]) -> Any:
    """`a < b < c`."""
    left = parts[0]()
    result: Any = True
    for n, (name, part) in enumerate(zip(names, parts[1:])):
        right = part()
        found = _COMPARISONS[name](left, right)
        answer = decided(found)
        if answer is False:
            return found
        if answer is None:
            result = (
                found if result is True else torch.logical_and(as_truth(result), as_truth(found))
            )
        elif n == len(names) - 1 and result is True:
            return found
        left = right
    return result


def _join(function: Any, a: Any, b: Any) -> Any:
    return function(as_truth(a), as_truth(b))


def contains(value: Any, container: Any) -> Any:
    """`value in container`."""
    if isinstance(value, (torch.Tensor, *SYMBOLS)) and isinstance(container, (tuple, list, range)):
        return any_(value == item for item in container)
    return value in container


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le,
    "Gt": operator.gt, "GtE": operator.ge, "Is": operator.is_, "IsNot": operator.is_not,
    "In": contains, "NotIn": lambda a, b: not_(contains(a, b)),
}  # fmt: skip


def assert_(test: Callable[[], Any], message: Callable[[], Any] | None = None) -> None:
    """`assert test, message`."""
    if not __debug__:
        return
    session = current()
    try:
        value = test()
        answer = decided(value)
    except GuardOnDataDependentSymNode:
        # A comparison of sizes that are known at run time.
        answer = None
    if answer is None:
        if session is not None:
            session.record("check left out")
        return
    if not answer:
        raise AssertionError(*([message()] if message is not None else []))


def any_(values: Iterable[Any]) -> Any:
    """`any(values)`."""
    result: Any = False
    for value in values:
        answer = decided(value)
        if answer:
            return True
        if answer is None:
            result = (
                as_truth(value) if result is False else torch.logical_or(result, as_truth(value))
            )
    return result


def all_(values: Iterable[Any]) -> Any:
    """`all(values)`."""
    result: Any = True
    for value in values:
        answer = decided(value)
        if answer is False:
            return False
        if answer is None:
            result = (
                as_truth(value) if result is True else torch.logical_and(result, as_truth(value))
            )
    return result


def bool_(value: Any = False) -> Any:
    """`bool(value)`."""
    answer = decided(value)
    if answer is not None:
        return answer
    truth = as_truth(value)
    if isinstance(truth, torch.Tensor):
        truth = truth.clone() if truth is value else truth
        session = current()
        assert session is not None
        session.numbers.add(truth)
    return truth


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _extreme(function: Any, greater: bool) -> Callable[..., Any]:
    def found(*values: Any, key: Any = None, **options: Any) -> Any:
        items = list(values[0]) if len(values) == 1 and not options else list(values)
        keys = items if key is None else [key(item) for item in items]
        if options or not any(isinstance(k, torch.Tensor) and k.numel() == 1 for k in keys):
            return function(items if len(values) == 1 else values, key=key, **options)
        best, best_key = items[0], keys[0]
        for item, own in zip(items[1:], keys[1:]):
            better = own > best_key if greater else own < best_key
            best, best_key = choose(better, _constant((item, own)), _constant((best, best_key)))
        return best

    return found


def _number_of(kind: type[int | float], args: tuple[Any, ...]) -> Any:
    """`int(x)` or `float(x)` of a value that is known at run time only."""
    value = args[0] if len(args) == 1 else None
    if isinstance(value, torch.Tensor):
        proxy = tracer().tensor_tracker.get(value)
        if proxy is None or proxy.constant is not None or value.dtype == torch.bool:
            return kind(*args)
        value = value.item()
    if isinstance(value, SYMBOLS) and free_unbacked_symbols(value):
        return torch.sym_int(value) if kind is int else torch.sym_float(value)
    return kind(*args)


_BUILTINS: dict[str, Callable[..., Any]] = {
    "any": any_,
    "all": all_,
    "bool": bool_,
    "max": _extreme(max, True),
    "min": _extreme(min, False),
    "range": ranges.range_,
    "enumerate": ranges.enumerate_,
    "int": lambda *args: _number_of(int, args),
    "float": lambda *args: _number_of(float, args),
    "len": length_of,
    "zip": ranges.zip_,
}


def shown(value: Any) -> Any:
    """What a text has for a value: of a tensor of one known number that number."""
    t = tracer()
    if current() is None or t is None or not isinstance(value, torch.Tensor) or value.ndim:
        return value
    proxy = t.tensor_tracker.get(value)
    return value if proxy is None or proxy.constant is None else proxy.constant.item()


def builtin(name: str, function: Any) -> Any:
    """A builtin, or what decides at run time in its place; torch replaces some while it traces."""
    if current() is None or tracer() is None or function is not getattr(builtins, name, None):
        return function
    return _BUILTINS.get(name, function)


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
        going = there if broken is None else and_(lambda: not_(broken()), _constant(there))
        if_(going, functools.partial(again, item), lambda: None, state)


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
        more = items.more(count)
        return more if broken is None else and_(lambda: not_(broken()), lambda: more)

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
        Loop(test, body, state, counter, trips).run()
