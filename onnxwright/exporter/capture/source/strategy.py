"""A capture by source: tried again with each function that decides rewritten, until it works."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onnxwright.exporter.capture.source.errors import CannotRewriteError
from onnxwright.exporter.capture.source.functions import Rewritten, deciding_frame, reads_value
from onnxwright.exporter.capture.source.lists import ListFunctions
from onnxwright.exporter.capture.source.session import Session, session

# How many functions of one model are rewritten at most.
_LIMIT = 64


@dataclass(frozen=True)
class Found:
    """A capture that worked.

    Fields:
        result: what the capture gave.
        session: what was decided.
        rewritten: the functions that decide.
    """

    result: Any
    session: Session
    rewritten: Rewritten


def by_source(
    run: Callable[[], Any],
    first: BaseException | None = None,
    assume: Mapping[str, bool] | None = None,
) -> Found:
    """What a capture gives once the functions that decide by values are rewritten.

    Args:
        run: the capture.
        first: what it raised when it was tried before; None if it was not.
        assume: answers of the user.

    Returns:
        What `run` gives, and how.

    Raises:
        CannotRewriteError: a function that decides has a form that is not rewritten.
    """
    changed = Rewritten()
    error = first
    for _ in range(_LIMIT):
        if error is not None:
            _rewrite(error, changed)
        found = Session(assume or {})
        try:
            with changed.in_place(), session(found), ListFunctions():
                return Found(run(), found, changed)
        except Exception as raised:
            if reads_value(raised) is None:
                raise
            error = raised
    assert error is not None
    raise error


def _rewrite(error: BaseException, changed: Rewritten) -> None:
    """Rewrite the function that an error of a capture comes from."""
    cause = reads_value(error)
    frame = deciding_frame(cause) if cause is not None else None
    if frame is None:
        raise error
    try:
        if changed.add(frame):
            return
    except CannotRewriteError as reason:
        raise reason from error
    raise error
