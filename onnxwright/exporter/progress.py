"""The step of a long export, on a terminal: nothing in a pipe, and nothing for two seconds."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO

# Work that takes no longer shows nothing.
_QUIET_SECONDS = 2.0
_EVERY = 0.5
_CLEAR = "\r\x1b[K"


class _Line:
    """One line of a terminal with the names of the steps that run, and the seconds.

    Args:
        quiet: the seconds before it is shown.
    """

    def __init__(self, stream: IO[str], quiet: float) -> None:
        self.steps: list[str] = []
        self._stream, self._quiet = stream, quiet
        self._begun = time.monotonic()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="onnxwright progress", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take the line away."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        shown = False
        while not self._end.wait(_EVERY if shown else self._quiet):
            seconds = time.monotonic() - self._begun
            text = f"onnxwright: {', '.join(self.steps)} ({seconds:.0f} s)"
            shown = self._write(f"{_CLEAR}{text[:76]}")
            if not shown:
                return
        if shown:
            self._write(_CLEAR)

    def _write(self, text: str) -> bool:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal was closed
            return False
        return True


_LINE: ContextVar[_Line | None] = ContextVar("onnxwright_progress", default=None)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Name a step; a terminal on standard error shows it where the work takes long.

    A step inside another is shown behind it.  The line is taken away at the end of the first step.

    Example:
        >>> with step("export"), step("capture"):
        ...     pass
    """
    line = _LINE.get()
    if line is not None:
        line.steps.append(name)
        try:
            yield
        finally:
            line.steps.pop()
        return
    stream = sys.stderr
    if not _is_terminal(stream):
        yield
        return
    line = _Line(stream, _QUIET_SECONDS)
    line.steps.append(name)
    token = _LINE.set(line)
    try:
        yield
    finally:
        _LINE.reset(token)
        line.close()


def _is_terminal(stream: IO[str] | None) -> bool:
    """Whether a line can be written on a stream and taken away."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # it is closed
        return False
