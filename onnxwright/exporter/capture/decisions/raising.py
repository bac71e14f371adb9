"""Errors that are raised for some values of a tensor, and caught by the model's own `except`.

A side of a decision that only raises is a check, which a model has no place for: it is left out.
Where an `except` takes the error, it is not a check: what follows depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnxwright.exporter.capture.control.handlers import handler_of
from onnxwright.exporter.capture.decisions.caught import refuse_handled
from onnxwright.exporter.capture.decisions.state import State
from onnxwright.exporter.capture.graphs.regions import Region


def refuse_caught(side: Callable[[], Any], state: State | None = None) -> None:
    """Refuse a decision of which one side raises an error that the model catches.

    Args:
        side: it.
        state: what it changes, if anything; as before afterwards.

    Raises:
        CaughtError: an `except` of the model takes the error.
    """
    if handler_of(None) is None:
        return
    before = None if state is None else state.read()
    error: Exception | None = None
    with Region() as region:
        try:
            side()
        except Exception as raised:  # noqa: BLE001 - whatever the model raises
            error = raised
        region.discard()
    if state is not None and before is not None:
        state.write(before)
    if error is not None:
        refuse_handled(error)
