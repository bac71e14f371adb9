# ruff: noqa: T201 - a command prints
"""What an export makes of all programs of the tests, in one table.

    python -m tests.exporter.exam                # all
    python -m tests.exporter.exam --only count   # programs whose name has this text

Programs that keep state are called five times beside PyTorch, programs that decide by values at
other values and sizes than those of the example.  "Right" holds over all calls, an "output" is new
state as a further output of the model, "reported" is right as of the state at export (OW839).
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import onnxwright as ow
from tests.exporter import state_programs
from tests.exporter.source import programs, programs_of_names, test_programs
from tests.exporter.test_state_programs import POSITIVE, is_same, outcome_of

OUTCOMES = ("right", "output", "reported", "refused", "wrong")


class Row:
    """The programs of one kind: outcomes, captures and seconds."""

    def __init__(self) -> None:
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.changed: list[str] = []
        self.captures, self.seconds = 0, 0.0

    def text(self, name: str) -> str:
        """The row of the table."""
        counts = "".join(f"{self.outcomes[o]:>14}" for o in OUTCOMES)
        return f"{name:<12}{counts}{len(self.changed):>14}{self.captures:>10}{self.seconds:>9.1f}"

    def add(self, module: Any, x: Any, options: dict[str, Any]) -> tuple[Any, list[str]]:
        """Export a program; None where it is refused.  With the texts of the warnings."""
        begun, program = time.process_time(), None
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    program = ow.export(module, (x,), **options)
                self.captures += len(program.report.captures)
            except ow.OnnxwrightError:
                self.outcomes["refused"] += 1
        self.seconds += time.process_time() - begun
        return program, [str(w.message) for w in raised]


def state_row(only: str) -> Row:
    """Programs that keep state."""
    row = Row()
    for name in _chosen(state_programs.PROGRAMS, only):
        state_programs.reset()
        module, look = state_programs.PROGRAMS[name].make()
        before = look()
        program, texts = row.add(module, POSITIVE.clone(), {})
        if not is_same(look(), before):
            row.changed.append(name)
        if program is not None:
            outcome = outcome_of(program, name, texts)
            row.outcomes["wrong" if "wrong" in outcome else outcome] += 1
    return row


def value_row(only: str) -> Row:
    """Programs that decide by values."""
    row = Row()
    every = {**test_programs.ALL, **test_programs.MORE, **test_programs.REFUSED}
    for name in _chosen(every, only):
        module, inputs = programs.as_module(every[name]), programs.inputs()
        program, _ = row.add(module, inputs[1], {"dynamic_shapes": test_programs.DYNAMIC})
        if program is not None:
            row.outcomes["right" if _agrees(program, module, inputs) else "wrong"] += 1
    return row


def _agrees(program: Any, module: Any, inputs: Sequence[Any]) -> bool:
    try:
        for x in inputs:
            test_programs.same(program, module, x)
    except AssertionError:
        return False
    return True


def _chosen(names: Any, only: str) -> Iterator[str]:
    return (name for name in names if only in name and name not in programs_of_names.STATE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a program is silently wrong, or changed the process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a text that the names have")
    only = parser.parse_args(arguments).only
    heads = "".join(f"{o:>14}" for o in (*OUTCOMES, "changed"))
    print(f"{'programs of':<12}{heads}{'captures':>10}{'seconds':>9}")
    faults = 0
    for name, row in (("state", state_row(only)), ("values", value_row(only))):
        print(row.text(name))
        faults += row.outcomes["wrong"] + len(row.changed)
    return int(faults > 0)


if __name__ == "__main__":
    raise SystemExit(main())
