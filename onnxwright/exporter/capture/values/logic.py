"""`not`, `and` and `or` of truth values of run time, and what follows from those around a line."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from onnxwright.exporter.capture.session.session import current

_JOINS = {"not": torch.logical_not, "and": torch.logical_and, "or": torch.logical_or}
_BOTH = frozenset([False, True])


def combined(operation: str, *parts: Any) -> Any:
    """A truth value made of others.

    Args:
        operation: "not", "and" or "or".
        parts: tensors of one truth value.

    Returns:
        A tensor; it stands for a truth value of Python if the parts do.
    """
    truth = _JOINS[operation](*parts)
    session = current()
    if session is not None and (operation == "not" or all(p in session.numbers for p in parts)):
        session.numbers.add(truth, _BOTH)
    return defined(truth, operation, *parts)


def defined(result: Any, operation: str, *parts: Any) -> Any:
    """A result of `not`, `and` or `or`, with what it is made of remembered.

    Args:
        result: what is as true as the operation says.
        operation: "not", "and" or "or".
        parts: what it is made of; tensors that an operator may change count as unknown.

    Returns:
        The result.
    """
    session = current()
    if session is not None and isinstance(result, torch.Tensor):
        has_definition = [_is_known(p) for p in parts]
        if any(has_definition):
            operands = [p if k else object() for p, k in zip(parts, has_definition)]
            session.truths.define(result, operation, *operands)
    return result


def is_number(tag: torch.Tensor, numbers: Collection[int], every: Collection[int]) -> Any:
    """Whether a tag is one of some numbers.

    Args:
        tag: a tensor of one integer.
        numbers: some of those that it may be.
        every: all that it may be.

    Returns:
        A tensor of a truth value of Python.
    """
    session = current()
    assert session is not None
    few = numbers if 2 * len(numbers) <= len(every) else set(every) - set(numbers)
    tests = [tag == n for n in sorted(few)]
    is_among = tests[0]
    for test in tests[1:]:
        is_among = torch.logical_or(is_among, test)
    if few is not numbers:
        is_among = torch.logical_not(is_among)
    session.numbers.add(is_among, _BOTH)
    session.truths.define(is_among, "is", tag, frozenset(numbers), frozenset(every))
    return is_among


def fact_of(condition: Any) -> Any:
    """What stands for the condition of one decision: itself, or an object of its own.

    The tensor of another condition may be changed in place, and be asked again.

    Args:
        condition: the condition.
    """
    return condition if _is_known(condition) else object()


def chosen(result: torch.Tensor, condition: Any, left: Any, right: Any) -> None:
    """Remember by what a truth value is chosen.

    Args:
        result: the truth value.
        condition: the `fact_of` the condition.
        left: it where the condition holds: a truth value, or a bool.
        right: it elsewhere.
    """
    session = current()
    if session is not None:
        sides = [p if isinstance(p, bool) or _is_known(p) else object() for p in (left, right)]
        session.truths.define_choice(result, condition, *sides)


def chosen_tag(result: torch.Tensor, condition: Any, left: Any, right: Any) -> None:
    """Remember by what a tag is chosen: it is `left` where the condition holds, else `right`."""
    session = current()
    if session is not None:
        session.truths.define_tag(result, condition, left, right)


def _is_known(truth: Any) -> bool:
    """Whether something is known of a truth value; other tensors may be changed in place."""
    session = current()
    return session is not None and (truth in session.numbers or session.truths.has(truth))


def compared(truth: torch.Tensor, condition: Any) -> torch.Tensor:
    """The tensor of a comparison of sizes, with that remembered.

    Args:
        truth: the tensor.
        condition: the comparison, of torch's symbols.

    Returns:
        The tensor.
    """
    session = current()
    if session is not None:
        session.numbers.add(truth, _BOTH)
        session.truths.compare(truth, condition)
    return truth


def comparisons() -> dict[int, Any]:
    """What is known of sizes by the decisions around the code that runs: truth -> condition."""
    session = current()
    return {} if session is None else session.truths.comparisons()


@contextmanager
def supposing(test: Any, answer: bool) -> Iterator[None]:
    """In this context, a condition is true or false."""
    with scope():
        suppose(test, answer)
        yield


def scope() -> AbstractContextManager[None]:
    """In this context, facts hold for the context alone: a part that may not run."""
    session = current()
    return nullcontext() if session is None else session.truths.scope()


def suppose(test: Any, answer: bool) -> None:
    """Know a condition from now on, up to the end of the part that runs."""
    session = current()
    if session is not None and _is_known(test):
        session.truths.suppose(test, answer)
