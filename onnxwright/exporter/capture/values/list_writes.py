"""Writes to lists: each goes through the store, so that a side of a decision is taken back."""

from __future__ import annotations

from typing import Any, NoReturn

from onnxwright.exporter.capture.control.places import Items
from onnxwright.exporter.capture.control.store import current as store_now
from onnxwright.exporter.capture.session.errors import CannotRewriteError, ListUseError
from onnxwright.exporter.capture.session.model_lines import model_span
from onnxwright.exporter.capture.session.program_lists import List, is_rows


def written(items: list[Any], new_items: Any) -> None:
    """Give a list other items, under all its names: of Python, or as rows."""
    if is_rows(new_items):
        check_own(items)
    store, place = store_now(), Items(items)
    if store is None:
        place.put(new_items)
    else:
        store.write(place, new_items)


def check_own(items: list[Any]) -> None:
    """Refuse a list that gets rows, and that rewritten code has not made.

    Raises:
        CannotRewriteError: it is one.
    """
    if not isinstance(items, List):
        raise CannotRewriteError(
            "a list from outside of `forward` that gets as many items as the model knows alone",
            model_span(),
            "make a list of your own in `forward`, as by `items = list(items)`",
        )


def misused(use: str) -> ListUseError:
    """The error for a use of a list, with the line of it."""
    error = ListUseError(use)
    error.span = model_span()
    return error


def refuse_effects(use: str) -> NoReturn:
    """Refuse a use that may end before the last item, of a generator that changes something."""
    what = f"`{use}` of a generator whose items change a variable or an object"
    raise CannotRewriteError(what, model_span())
