"""What became of each way to capture a model, for the report."""

from __future__ import annotations

from dataclasses import dataclass

from onnxwright.exporter.capture.session.session import Choice


@dataclass(frozen=True)
class Outcome:
    """What became of one way to capture.

    Fields:
        strategy: its name.
        seconds: how long it took.
        error: why it failed; empty if it worked.
        output: what torch printed and logged on the way.
        choices: decisions by values that the program has, of a capture by source.
        rewritten: the functions that decide them.
        answered: the keys of `assume` that answered a decision.
    """

    strategy: str
    seconds: float
    error: str = ""
    output: str = ""
    choices: tuple[Choice, ...] = ()
    rewritten: tuple[str, ...] = ()
    answered: frozenset[str] = frozenset()


def reason_of(error: BaseException) -> str:
    """The first lines of an error."""
    text = f"{type(error).__name__}: {error}".strip()
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(lines[:100])
