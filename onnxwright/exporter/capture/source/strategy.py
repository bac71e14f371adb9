"""A capture by source: tried again with each function that decides rewritten, until it works."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from onnxwright.diagnostics.span import Span
from onnxwright.exporter.capture.source.choice_frames import ChoiceFrames, asks
from onnxwright.exporter.capture.source.chosen_objects import check_chosen
from onnxwright.exporter.capture.source.constant_arguments import ConstantArguments
from onnxwright.exporter.capture.source.conversions import Conversions, conversions_recorded
from onnxwright.exporter.capture.source.errors import (
    CannotRewriteError,
    ChangedInPlaceError,
    DisagreementError,
    ItemsReadError,
    LoopChangeError,
    RefusedError,
    TooManyCopiesError,
)
from onnxwright.exporter.capture.source.expressions import is_rewritten
from onnxwright.exporter.capture.source.functions import MOST_COPIES, Rewritten, Site
from onnxwright.exporter.capture.source.grad_modes import grad_modes_dropped
from onnxwright.exporter.capture.source.iterators import RunTimeLengthError
from onnxwright.exporter.capture.source.list_results import register_lists
from onnxwright.exporter.capture.source.misread import Misread, take_misread
from onnxwright.exporter.capture.source.session import Session, session
from onnxwright.exporter.capture.source.torch_functions import ListFunctions
from onnxwright.exporter.capture.source.value_errors import (
    deciding_frame,
    deciding_lines,
    is_about_fixed_size,
    reads_value,
)
from onnxwright.exporter.places import line_of

# How many functions of one model are rewritten at most.
_LIMIT = 64


@dataclass(frozen=True)
class Found:
    """A capture that worked.

    Fields:
        result: what the capture gave.
        session: what was decided.
        rewritten: the functions that decide.
        misread: what reads its numbers of run time wrongly, and cannot be rewritten.
    """

    result: Any
    session: Session
    rewritten: Rewritten
    misread: Misread


def by_source(
    run: Callable[[], Any],
    first: BaseException | None = None,
    assume: Mapping[str, bool] | None = None,
    changed: Rewritten | None = None,
    keeps_loops: bool = False,
) -> Found:
    """What a capture gives once the functions that decide by values are rewritten.

    Args:
        run: the capture.
        first: what it raised when it was tried before; None if it was not.
        assume: answers of the user.
        changed: functions that are rewritten from the start; others are added.
        keeps_loops: whether they were rewritten for their loops over dynamic sizes.

    Returns:
        What `run` gives, and how.

    Raises:
        CannotRewriteError: a function that decides has a form that is not rewritten.
    """
    register_lists()
    changed = Rewritten() if changed is None else changed
    error = first
    best: Found | None = None
    disagreements: dict[Span, RefusedError] = {}
    found: Session | None = None
    for _ in range(_LIMIT):
        if error is not None:
            _rewrite(error, changed, found)
            error = None
        found = Session(assume or {}, keeps_loops=keeps_loops)
        found.asks_constants = bool(changed.asks_constants)
        found.tries_constants = changed.asks_constants is False
        frames = ChoiceFrames(found)
        try:
            with (
                changed.in_place(), session(found), ListFunctions(), grad_modes_dropped(),
                conversions_recorded("len") as conversions,
                ConstantArguments() if found.asks_constants else nullcontext(),
                frames,
            ):  # fmt: skip
                take_misread()
                result = run()
                misread = take_misread()
                made = Found(result, found, changed, misread)
                check_chosen()
            if _adds_choices(frames, changed):
                continue
            best = made
            if not _adds_conversions({**conversions, **misread.functions}, changed):
                return best
        except Exception as raised:  # noqa: BLE001 - torch raises many kinds
            try:
                if _adds_choices(frames, changed):
                    continue
                error = _mended(raised, conversions, changed, disagreements, found)
            except Exception as last:
                # What works with numbers of the example may not with symbolic ones.
                if best is not None:
                    return best
                if found.unrolled and is_about_fixed_size(last):
                    raise next(iter(found.unrolled.values())) from last
                raise
    if best is not None:
        return best
    raise error or next(iter(disagreements.values()))


def _mended(
    raised: Exception,
    conversions: Conversions,
    changed: Rewritten,
    disagreements: dict[Span, RefusedError],
    found: Session,
) -> Exception | None:
    """Change how functions are rewritten, after a capture failed.

    Args:
        raised: what it raised.
        conversions: the functions that took a size as a number.
        changed: the functions that are rewritten.
        disagreements: the first of each decision; that of this one is added.
        found: what the capture recorded.

    Returns:
        The error if it says which function is to be rewritten; None where all is done.

    Raises:
        Exception: the error; there is nothing to change.
    """
    if isinstance(raised, (DisagreementError, LoopChangeError)) and raised.span is not None:
        before = disagreements.setdefault(raised.span, raised)
        if isinstance(raised, DisagreementError) and changed.split_at(raised.span):
            return None
        if raised.of_constants and changed.asks_constants is False:
            for span, other in disagreements.items():
                if other.of_constants:
                    changed.join_at(span)
            changed.ask_constants(True)
            return None
        copies = changed.copies(raised.span)
        if isinstance(before, DisagreementError) and 2 * copies > MOST_COPIES:
            raise TooManyCopiesError(before, copies) from raised
        raise before
    if isinstance(raised, ChangedInPlaceError) and _adds_makers(raised, changed):
        return None
    if reads_value(raised) is not None:
        return raised
    if _adds_conversions(conversions, changed) or _decide(raised, changed, found):
        return None
    if found.lost_constants and changed.asks_constants is False:
        changed.ask_constants(True)
        return None
    raise raised


def _adds_makers(error: ChangedInPlaceError, changed: Rewritten) -> bool:
    """Rewrite the functions that may have made an iterator; whether there are any."""
    added = False
    for frame in error.makers:
        with contextlib.suppress(CannotRewriteError):
            added |= not is_rewritten(frame.f_code) and changed.add(Site.of(frame))
    return added


def _adds_choices(frames: ChoiceFrames, changed: Rewritten) -> bool:
    """Rewrite functions that have one of several constants or functions; whether there are any.

    Raises:
        CannotRewriteError: one that asks which it is cannot be rewritten.
    """
    added = False
    for code, frame in frames.found.items():
        try:
            added |= changed.add(frame)
        except CannotRewriteError as error:
            if asks(code):
                error.span = error.span or line_of(code.co_filename, code.co_firstlineno)
                raise
    return added


def _adds_conversions(conversions: Conversions, changed: Rewritten) -> bool:
    known = len(changed.codes)
    return len(rewritten_conversions(conversions, changed).codes) > known


def rewritten_conversions(conversions: Conversions, changed: Rewritten | None = None) -> Rewritten:
    """Rewrite functions that take a size as a number, where that can be done.

    Args:
        conversions: the functions.
        changed: functions that are rewritten; they are added there.

    Returns:
        All functions that are rewritten.
    """
    changed = Rewritten() if changed is None else changed
    for frame in conversions.values():
        with contextlib.suppress(CannotRewriteError):
            changed.add(frame)
    return changed


def _rewrite(error: BaseException, changed: Rewritten, before: Session | None) -> None:
    """Rewrite the function that an error of a capture comes from.

    Args:
        error: the error.
        changed: the functions that are rewritten.
        before: that of the capture.

    Raises:
        Exception: the error; there is nothing to change.
    """
    cause = reads_value(error)
    frame = deciding_frame(cause) if cause is not None else None
    if frame is None:
        raise error
    try:
        if changed.add(frame):
            return
    except CannotRewriteError as reason:
        raise reason from error
    if before is not None and _decide(cause, changed, before):
        return
    if before is not None and before.has_choices and changed.ask_kinds():
        return
    if isinstance(cause, RunTimeLengthError):
        raise ItemsReadError(line_of(frame.f_code.co_filename, frame.f_lineno)) from error
    raise error


def _decide(cause: BaseException | None, changed: Rewritten, before: Session) -> bool:
    """Let the line that needs a number know it, if the number is one of a few; whether it is."""
    for frame, line in deciding_lines(cause):
        numbers = {n: v for n, v in frame.f_locals.items() if before.numbers.origin(v) is not None}
        file = frame.f_code.co_filename
        read = {n: v for n, v in numbers.items() if n in changed.names_read(file, line)}
        origins = Counter(before.numbers.origin(number) for number in read.values())
        for origin, count in origins.items():
            # Numbers of one decision belong together.
            if origin is not None and count > 1 and changed.split_at(line_of(*origin)):
                return True
        choices = {name: before.numbers.choices(value) for name, value in read.items()}
        if choices and changed.decide_at(file, line, choices):
            return True
    return False
