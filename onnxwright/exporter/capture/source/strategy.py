"""A capture by source: tried again with each function that decides rewritten, until it works."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onnxwright.exporter.capture.source.errors import CannotRewriteError, DisagreementError
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
    changed: Rewritten | None = None,
) -> Found:
    """What a capture gives once the functions that decide by values are rewritten.

    Args:
        run: the capture.
        first: what it raised when it was tried before; None if it was not.
        assume: answers of the user.
        changed: functions that are rewritten from the start; others are added.

    Returns:
        What `run` gives, and how.

    Raises:
        CannotRewriteError: a function that decides has a form that is not rewritten.
    """
    changed = Rewritten() if changed is None else changed
    error = first
    refused: DisagreementError | None = None
    splits = changed.splits
    for _ in range(_LIMIT):
        found = Session(assume or {})
        try:
            if error is not None:
                _rewrite(error, changed)
            with changed.in_place(), session(found), ListFunctions():
                return Found(run(), found, changed)
        except DisagreementError as raised:
            refused, error = refused or raised, None
            if raised.span is None or not changed.split(raised.span.file, raised.span.line):
                changed.with_splits(splits)
                raise refused from None
        except Exception as raised:
            if raised is error or isinstance(raised, CannotRewriteError) or not reads_value(raised):
                if refused is None:
                    raise
                # The rest of the function does not work on both sides.
                changed.with_splits(splits)
                raise refused from None
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
