"""The line that shows the steps of an export: on a terminal alone."""

from __future__ import annotations

import io
from contextlib import suppress

import pytest

from onnxwright.exporter import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, term: str = "xterm") -> str:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", term)
    with suppress(KeyError), progress.step("export"):
        with progress.step("capture"):
            pass
        with progress.step("translate"):
            raise KeyError
    return "" if stream.closed else stream.getvalue()


def test_steps_are_shown_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = run(Terminal(), monkeypatch).split("\r\x1b[K")[1:]
    export = "onnxwright: export ..."
    inner = [f"onnxwright: export, {name} ..." for name in ("capture", "translate")]
    assert lines == [export, inner[0], export, inner[1], export, ""]


def test_nothing_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(io.StringIO(), monkeypatch) == ""
    assert run(Terminal(), monkeypatch, "dumb") == ""
    closed = Terminal()
    closed.close()
    assert run(closed, monkeypatch) == ""
