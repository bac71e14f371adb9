"""The form of a list that decisions and loops change: of Python, or `Rows` that get more or fewer.

A side or an iteration that gives a list another length makes its items rows before the decision or
the loop, which is then traced anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.session.errors import DisagreementError, LoopChangeError, words
from onnxwright.exporter.capture.session.program_lists import kind_of
from onnxwright.exporter.capture.values.building_rows import BuildingRows
from onnxwright.exporter.capture.values.columns import Column
from onnxwright.exporter.capture.values.rows import Rows, like_of


def widened(items: Any, like: Rows) -> Rows:
    """A list in the form of another one.

    Args:
        items: a list of Python, or one of run-time length.
        like: a list whose items have the types and sizes of those that are added.

    Raises:
        LoopChangeError: its items have other parts or types.
    """
    return items.in_form_of(like) if isinstance(items, Rows) else like.restarted(items)


def form_of_item(item: Any, symbols: set[Any]) -> Rows:
    """An empty list that takes an item of each iteration of a loop, or of a side of a decision.

    Args:
        item: the item, or a list of such items.
        symbols: the sizes known at run time that exist outside of the iteration or side.

    Returns:
        The list: of ragged columns where items have one axis of another size in each.

    Raises:
        LoopChangeError: there are more such axes, or the item is not of tensors.
    """
    if isinstance(item, Rows):
        return item.like() if is_ragged(item) else form_of_item(item.sample(), symbols)
    like = like_of(item)
    return Rows([_for_all_iterations(column, symbols) for column in like.columns], like.form)


def _for_all_iterations(column: Column, symbols: set[Any]) -> Column:
    axes = [n for n, size in enumerate(column.item_shape) if free_unbacked_symbols(size) - symbols]
    if len(axes) > 1:
        raise LoopChangeError("an item of the list", "of one size", "of another")
    return column.like(axes[0]) if axes else column


def is_ragged(items: Rows) -> bool:
    """Whether items differ in the size of an axis."""
    return any(column.axis is not None for column in items.columns)


def rows_kept(before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """What variables are after a side or an iteration; new lists as rows, if there were rows."""
    return [
        old.restarted(new) if isinstance(old, Rows) and kind_of(new) is list else new
        for old, new in zip(before, after)
    ]


def raise_growth(owner: Any, one: Any, two: Any, name: str) -> None:
    """Raise a disagreement if a list has more items on one side.

    Args:
        owner: the list; anything else for other slots.
        one, two: its items on both sides.
        name: what the user calls it.
    """
    if not all(isinstance(v, list) for v in (owner, one, two)):
        return
    grown = [x for x in (one, two) if isinstance(x, Rows)]
    is_building = any(isinstance(x, BuildingRows) for x in grown)
    if len(grown) == 2 and (is_building or is_ragged(grown[0]) == is_ragged(grown[1])):
        return
    if not grown and len(one) == len(two):
        return
    error = DisagreementError(name, words(one), words(two))
    error.grows = (
        owner,
        (max(grown, key=is_ragged) if grown else item_of(*sorted((one, two), key=len))),
    )
    raise error


def item_of(short: Sequence[Any], long: Sequence[Any]) -> Any:
    """An item of two lists; one that the second list alone has, if there is one."""
    added = [item for item in long if all(item is not other for other in short)]
    return [*short, *long, *added[-1:]][-1]
