"""`any`, `all` and what Python evaluates only where the values before it do not settle a result.

Each part is evaluated if that raises no error; its side effects hold only where Python reaches it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from onnxwright.exporter.capture.source.conditional import conditional
from onnxwright.exporter.capture.source.rows import Rows
from onnxwright.exporter.capture.source.sides import places_of, side_of
from onnxwright.exporter.capture.source.state import State
from onnxwright.exporter.capture.source.truth import as_truth, decided


@contextmanager
def reached_where(
    condition: Any, answer: bool = True, used_up: Any = None, roots: Sequence[Any] = ()
) -> Iterator[None]:
    """In this context, what is changed holds only where a condition has an answer.

    Args:
        condition: a tensor of one truth value.
        answer: the answer.
        used_up: an iterator that is read meanwhile, and not afterwards.
        roots: the functions that run.
    """
    state = State((), (), (), lambda _: None, ())
    with side_of(*roots) as side:
        yield
        side.keep()
        side.writes = [w for w in side.writes if w.place.owner is not used_up]
        places = places_of(side)
    if not places:
        return
    state.add(places)
    state.open()
    after = state.read()
    for write in side.writes:
        write.place.put(write.before)
    keep = functools.partial(state.write, after)
    if answer:
        conditional(condition, keep, _leave, state)
    else:
        conditional(condition, _leave, keep, state)


def _leave() -> None:
    """Change nothing."""


def any_(values: Iterable[Any]) -> Any:
    """`any(values)`."""
    if isinstance(values, Rows):
        values.check_order("any")
        return (values.whole("any") != 0).any()
    return _joined(values, torch.logical_or, settles=True)


def all_(values: Iterable[Any]) -> Any:
    """`all(values)`."""
    if isinstance(values, Rows):
        values.check_order("all")
        return (values.whole("all") != 0).all()
    return _joined(values, torch.logical_and, settles=False)


def _joined(values: Iterable[Any], join: Callable[[Any, Any], Any], *, settles: bool) -> Any:
    """Truths joined, until one of them is known to settle the result."""
    result: Any = None
    items = iter(values)
    known = isinstance(values, (list, tuple, set, frozenset, dict))
    while True:
        try:
            if result is None or known:
                value = next(items)
            else:
                with reached_where(result, not settles, values, (values,)):
                    value = next(items)
        except StopIteration:
            return not settles if result is None else result
        answer = decided(value)
        if answer is settles:
            return settles
        if answer is None:
            truth = as_truth(value)
            result = truth if result is None else join(result, truth)
