"""What a command says and how it ends: user errors, colour, a progress bar, JSON."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any, TypeVar

from onnxwright.ir.text import clean

T = TypeVar("T")

OK, DIFFERS, USAGE, BUG = 0, 1, 2, 3
_WIDTH = 24
_COLOUR = re.compile(r"(\x1b\[[\d;]*m)")


def escape_control_chars(text: str, *, color: bool = False) -> str:
    r"""A text without control characters; line ends stay, and our own colours.

    Args:
        text: the text to print, which may contain names of a model.

    Example:
        >>> escape_control_chars("a\nb\x1b[2J")
        'a\nb\\x1b[2J'
    """
    parts = _COLOUR.split(text) if color else [text]
    return "".join(
        part if color and _COLOUR.fullmatch(part) else "\n".join(map(clean, part.split("\n")))
        for part in parts
    )


class CliError(Exception):
    """An error that the user can fix; the command ends without a traceback.

    Args:
        text: the message.
        status: the exit status, 2 if not given.
    """

    def __init__(self, text: str, status: int = USAGE) -> None:
        super().__init__(text)
        self.status = status


def wants_color(choice: str = "auto", stream: IO[str] | None = None) -> bool:
    """Whether to colour: `always`, `never`, or on a terminal where `NO_COLOR` is not set."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return (stream or sys.stdout).isatty()


def width(stream: IO[str] | None = None) -> int:
    """How many characters a line of a terminal has; 76 if it is not a terminal."""
    if not (stream or sys.stdout).isatty():
        return 76
    return shutil.get_terminal_size().columns


def progress(items: Iterable[T], total: int, label: str) -> Iterator[T]:
    """The items; meanwhile a terminal shows how many are done.

    Args:
        items: what is iterated over.

    Example:
        >>> list(progress([1, 2], 2, "running"))
        [1, 2]
    """
    bar = Bar(total, label)
    try:
        for item in items:
            yield item
            bar.step()
    finally:
        bar.close()


class Bar:
    """A line on a terminal's standard error; nothing in a pipe.

    Args:
        total: how many steps there are.
        label: what is done.
    """

    def __init__(self, total: int, label: str) -> None:
        self.total, self.label, self.done = max(total, 1), label, 0
        self.shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._last = -1

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        part = min(self.done * 100 // self.total, 100)
        if self.shown and part != self._last:
            self._last = part
            filled = part * _WIDTH // 100
            line = f"\r{self.label} [{'#' * filled}{'.' * (_WIDTH - filled)}] {part:3d}%"
            print(line, end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Take the line away."""
        if self.shown and self._last >= 0:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Print a value as JSON that every reader takes: NaN and infinities become strings."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(_strict(value), indent=2, ensure_ascii=plain))


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return str(value)
