"""The form of a list that decisions and loops change: of Python, or `Rows` that get more or fewer.

A side or an iteration that gives a list another length makes it `Rows` before the decision or the
loop, which is then traced anew.  The list of Python is closed: other names of it would not see the
items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._python_dispatch import _disable_current_modes

from onnxwright.exporter.capture.source.columns import Column
from onnxwright.exporter.capture.source.errors import DisagreementError, words
from onnxwright.exporter.capture.source.regions import depth
from onnxwright.exporter.capture.source.rows import Rows, like_of, misused
from onnxwright.exporter.capture.source.session import current


def widened(items: Any, like: Rows) -> Rows:
    """A list in the form of another one.

    Args:
        items: a list of Python, or one of run-time length.
        like: a list whose items have the types and sizes of those that are added.

    Raises:
        LoopChangeError: its items have other parts or types.
    """
    found: Rows = items.in_form_of(like) if isinstance(items, Rows) else like.restarted(items)
    return of_same_list(items, found)  # type: ignore[no-any-return]


def form_of_item(item: Any, known: set[Any]) -> Rows | None:
    """An empty list that takes an item of each iteration of a loop.

    Args:
        item: the item of one iteration.
        known: the sizes known at run time that exist outside of it.

    Returns:
        The list: of ragged columns where items have one axis of another size in each; None where
        there are more such axes.
    """
    like = like_of(item)
    columns = [_for_all_iterations(column, known) for column in like.columns]
    if any(column is None for column in columns):
        return None
    return Rows([column for column in columns if column is not None], like.form)


def _for_all_iterations(column: Column, known: set[Any]) -> Column | None:
    axes = [n for n, size in enumerate(column.item_shape) if free_unbacked_symbols(size) - known]
    if not axes:
        return column
    return column.like(axes[0]) if len(axes) == 1 else None


def is_ragged(items: Rows) -> bool:
    """Whether items differ in the size of an axis."""
    return any(column.axis is not None for column in items.columns)


def rows_kept(before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """What variables are after a side or an iteration; new lists as rows, if there were rows.

    Args:
        before, after: the values of the variables.
    """
    return [
        old.restarted(new) if isinstance(old, Rows) and type(new) is list else new
        for old, new in zip(before, after)
    ]


def raise_growth(owner: Any, one: Any, two: Any, name: str) -> None:
    """Raise a disagreement if a list has more items on one side.

    Args:
        owner: the list; anything else for other slots.
        one, two: its items on both sides.
        name: what the user calls it.
    """
    if type(owner) is not list or not isinstance(one, list) or not isinstance(two, list):
        return
    error = DisagreementError(name, words(one), words(two))
    grown = [x for x in (one, two) if isinstance(x, Rows)]
    if len(grown) == 1:
        error.grows = (owner, [grown[0].sample()])
        raise error
    if grown or len(one) == len(two):
        return
    short, long = sorted((one, two), key=len)
    more = len(long) - len(short)
    error.grows = (owner, long[len(short) :])
    if all(a is b for a, b in zip(short, long[more:])) and not all(map(_is, short, long)):
        error.grows, error.first = (owner, long[:more]), True
    raise error


def _is(one: Any, other: Any) -> bool:
    return one is other


class OtherName(torch.Tensor):  # type: ignore[misc]
    """The only item of a list that grew in a loop under another name."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise misused("another name of it")


def close_other_names(items: list[Any]) -> None:
    """Empty the list of Python: other names of it would not see the rows."""
    items[:] = closed_items()


def closed_items() -> list[Any]:
    """What a list has whose items nobody may read."""
    with _disable_current_modes():
        return [torch.empty(0).as_subclass(OtherName)]


def is_closed(items: Any) -> bool:
    """Whether nobody may read the items of a list."""
    return type(items) is list and len(items) == 1 and isinstance(items[0], OtherName)


def of_same_list(before: Any, value: Any) -> Any:
    """A value; if it is a list of a run-time length, the same list as another one."""
    if isinstance(before, Rows) and isinstance(value, Rows):
        value.identity = before.identity
    return value


def after_changes(before: Any, after: Any, *, lost: bool = False) -> Any:
    """What a variable has after a branch or a loop, if that changed its list in place.

    Other names of the list see the change, or are refused.

    Args:
        before: what the variable had before it.
        after: what it has afterwards.
        lost: whether nothing reads the variable afterwards, so that it has what it had before.
    """
    session = current()
    if session is None or depth() or not isinstance(before, Rows):
        return after
    if before is after and not lost:
        return after
    if not lost and isinstance(after, Rows) and after.identity is before.identity:
        before.become(after)
        return before
    if before.identity in session.changed_lists:
        before.close()
    return after
