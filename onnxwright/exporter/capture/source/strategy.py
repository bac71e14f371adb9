"""A capture by source: each function runs with its decisions rewritten.

A decision whose sides cannot be one value is rewritten in another form, and the capture is run
again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onnxwright.diagnostics.span import Span
from onnxwright.exporter.capture.source.conditional import conditional
from onnxwright.exporter.capture.source.errors import (
    ChosenChangedError,
    DisagreementError,
    ItemsReadError,
    LoopChangeError,
    RefusedError,
    TooManyCopiesError,
)
from onnxwright.exporter.capture.source.functions import MOST_COPIES, Rewritten
from onnxwright.exporter.capture.source.grad_modes import grad_modes_dropped
from onnxwright.exporter.capture.source.iterators import RunTimeLengthError
from onnxwright.exporter.capture.source.list_results import register_lists
from onnxwright.exporter.capture.source.session import Session, session
from onnxwright.exporter.capture.source.size_sides import SizeDecisions, sizes_decided
from onnxwright.exporter.capture.source.torch_functions import ListFunctions
from onnxwright.exporter.capture.torch_errors import (
    is_about_fixed_size,
    lines_passed,
    reads_value,
)
from onnxwright.exporter.capture.values.one_of import Candidates
from onnxwright.exporter.places import line_of

# How often the form of a decision is changed at most.
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
    assume: Mapping[str, bool] | None = None,
    changed: Rewritten | None = None,
    keeps_loops: bool = False,
    with_sizes: bool = False,
) -> Found:
    """What a capture gives whose functions decide by values.

    Args:
        run: the capture.
        assume: answers of the user.
        changed: how functions are rewritten.
        keeps_loops: whether loops over dynamic sizes are loops of the program.
        with_sizes: whether decisions by sizes are exported for both sides.

    Returns:
        What `run` gives, and how.

    Raises:
        CannotRewriteError: a function that decides has a form that is not rewritten.
    """
    register_lists()
    changed = Rewritten() if changed is None else changed
    disagreements: dict[Span, RefusedError] = {}
    references: set[tuple[str, int]] = set()
    for _ in range(_LIMIT):
        found = Session(assume or {}, keeps_loops=keeps_loops, decide=conditional,
                        references=frozenset(references))  # fmt: skip
        if with_sizes:
            found.sizes = SizeDecisions()
        try:
            with (
                changed.running(), session(found), ListFunctions(), grad_modes_dropped(),
                sizes_decided(found.sizes), Candidates(),
            ):  # fmt: skip
                made = Found(run(), found, changed)
            changed.check_plain(has_choices=found.has_choices)
            return made
        except Exception as raised:
            line = raised.decision if isinstance(raised, ChosenChangedError) else None
            if line is not None and line not in references:
                references.add(line)
                continue
            if _changes_form(raised, changed, disagreements, found):
                continue
            changed.check_plain(has_choices=found.has_choices)
            if found.unrolled and is_about_fixed_size(raised):
                raise next(iter(found.unrolled.values())) from raised
            raise _with_reason(raised, changed) from raised.__cause__
    raise next(iter(disagreements.values()))


def _changes_form(
    raised: Exception, changed: Rewritten, disagreements: dict[Span, RefusedError], found: Session
) -> bool:
    """Change the form of a decision whose sides cannot be one value; whether there is another.

    Args:
        raised: what the capture raised.
        changed: how functions are rewritten.
        disagreements: the first of each decision; that of this one is added.
        found: what the capture recorded.

    Raises:
        RefusedError: there is no other form.
    """
    if isinstance(raised, (DisagreementError, LoopChangeError)) and raised.span is not None:
        before = disagreements.setdefault(raised.span, raised)
        if isinstance(raised, DisagreementError) and changed.split_at(raised.span):
            return True
        copies = changed.copies(raised.span)
        if isinstance(before, DisagreementError) and 2 * copies > MOST_COPIES:
            raise TooManyCopiesError(before, copies) from raised
        raise before
    return _decide(reads_value(raised) or raised, changed, found)


def _decide(cause: BaseException, changed: Rewritten, before: Session) -> bool:
    """Let the line that needs a number know it, if the number is one of a few; whether it is."""
    for frame, line in lines_passed(cause):
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


def _with_reason(raised: Exception, changed: Rewritten) -> Exception:
    """The error of a capture, or why the function that read a value is not rewritten."""
    cause = reads_value(raised)
    for frame, line in lines_passed(cause):
        reason = changed.reason_for(frame.f_code)
        if reason is not None:
            return reason
        if isinstance(cause, RunTimeLengthError):
            return ItemsReadError(line_of(frame.f_code.co_filename, line))
        break
    return raised
