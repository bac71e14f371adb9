"""One way to capture a model, with the forms of the inputs that it is tried with."""

from __future__ import annotations

from typing import NamedTuple

from onnxwright.exporter import checks
from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.capture.strategies import NAMED, Strategy
from onnxwright.exporter.shown import shown


class Way(NamedTuple):
    """A way to capture a model.

    Fields:
        name: as the report has it.
        strategy: the function that captures.
        inputs: the form of the inputs that it is given.
        relaxed: whether torch finds the bounds of named dimensions by itself.
    """

    name: str
    strategy: Strategy
    inputs: Wanted
    relaxed: bool


def ways(wanted: Wanted, how: str | Strategy) -> list[Way]:
    """The forms of one way.

    Args:
        wanted: example inputs, and which dimensions are dynamic.
        how: a name of `NAMED`, or a function.

    Returns:
        The way with all forms of the inputs, in the order in which they are tried.

    Raises:
        ExportValueError: the strategy is unknown (OW825).
    """
    if callable(how):
        return [Way(getattr(how, "__name__", "given function"), how, wanted, False)]
    if how not in NAMED:
        known = ", ".join(repr(n) for n in ("auto", *NAMED))
        checks.raise_bad_argument(
            "capture",
            f"unknown strategy {shown(how)}",
            f"choose one of {known}, or give a function",
        )
    strategy = NAMED[how]
    relaxed = wanted.relaxed()
    if relaxed is None:
        found = [Way(how, strategy, wanted, False)]
    elif wanted.has_derived():
        # Torch knows from the dimensions that one size follows from another.
        found = [
            Way(how, strategy, wanted, False),
            Way(f"{how}, bounds by torch", strategy, relaxed, True),
        ]
    else:
        found = [Way(how, strategy, relaxed, True)]
    broadcasting = wanted.broadcasting()
    if broadcasting is not None:
        free = broadcasting.relaxed()
        fixed = free or broadcasting
        found.append(Way(f"{how}, sizes of 1 fixed", strategy, fixed, free is not None))
    return found
