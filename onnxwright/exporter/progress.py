"""The step of an export, on a terminal; nothing in a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CLEAR = "\r\x1b[K"
_STEPS: ContextVar[tuple[str, ...]] = ContextVar("onnxwright_progress", default=())


@contextmanager
def step(name: str) -> Iterator[None]:
    """Name a step; a terminal on standard error shows it while it runs, and those around it.

    Example:
        >>> with step("export"), step("capture"):
        ...     pass
    """
    around = _STEPS.get()
    token = _STEPS.set((*around, name))
    _show((*around, name))
    try:
        yield
    finally:
        _STEPS.reset(token)
        _show(around)


def _show(steps: tuple[str, ...]) -> None:
    """Write the line anew, or take it away."""
    try:
        if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            return
        line = f"onnxwright: {', '.join(steps)} ..." if steps else ""
        sys.stderr.write(f"{_CLEAR}{line[:76]}")
        sys.stderr.flush()
    except (OSError, ValueError):  # the terminal was closed
        return
