"""The line that shows the steps of a long export: on a terminal alone, and not for two seconds."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest

from onnxwright.exporter import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.01)
    monkeypatch.setattr(progress, "_EVERY", 0.01)
    monkeypatch.setenv("TERM", "xterm")


def wait_for(stream: Any, text: str) -> None:
    for _ in range(500):
        if text in stream.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(stream.getvalue())


def test_steps_are_shown_and_taken_away(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)

    @progress.step("export")
    def fail() -> None:
        with progress.step("capture"):
            wait_for(terminal, "onnxwright: export, capture (0 s)")
        with progress.step("translate"):
            wait_for(terminal, "onnxwright: export, translate")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert terminal.getvalue().endswith("\r\x1b[K")
    with progress.step("again"):
        wait_for(terminal, "onnxwright: again")


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress.step("export"):
        pass
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(("stream", "term"), [(io.StringIO, "xterm"), (Terminal, "dumb")])
def test_nothing_in_a_pipe(
    stream: Any, term: str, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = stream()
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setenv("TERM", term)
    with progress.step("export"):
        time.sleep(0.1)
    assert written.getvalue() == ""


def test_a_closed_terminal_does_not_matter(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.step("export"):
        terminal.close()
        time.sleep(0.05)
