"""The ways to capture a model, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from onnxwright.exporter import checks
from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.capture.source.functions import Rewritten
from onnxwright.exporter.capture.strategies import NAMED, STRATEGIES, Source, Strategy
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
    """The ways to try.

    Args:
        wanted: example inputs, and which dimensions are dynamic.
        how: "auto", a name of `NAMED`, or a function.

    Returns:
        The ways, in order; each strategy with all forms of the inputs.

    Raises:
        ExportValueError: the strategy is unknown (OW825).
    """
    if callable(how):
        return [Way(getattr(how, "__name__", "given function"), how, wanted, False)]
    if how != "auto" and how not in NAMED:
        known = ", ".join(repr(n) for n in ("auto", *NAMED))
        checks.raise_bad_argument(
            "capture",
            f"unknown strategy {shown(how)}",
            f"choose one of {known}, or give a function",
        )
    found: list[Way] = []
    relaxed, broadcasting = wanted.relaxed(), wanted.broadcasting()
    for name, strategy in STRATEGIES.items() if how == "auto" else ((how, NAMED[how]),):
        found.append(Way(name, strategy, wanted, False))
        if relaxed is not None:
            found.append(Way(f"{name}, bounds by torch", strategy, relaxed, True))
        if broadcasting is not None:
            found.append(Way(f"{name}, sizes of 1 fixed", strategy, broadcasting, False))
    return found


def sources(
    wanted: Wanted,
    first: Exception | None,
    assume: Mapping[str, bool] | None,
    functions: Rewritten | None = None,
    *,
    keeps_loops: bool = False,
) -> list[Way]:
    """The capture by source, with all forms of the inputs."""
    return [
        way._replace(strategy=Source(first, assume, functions, keeps_loops))
        for way in ways(wanted, "source")
    ]
