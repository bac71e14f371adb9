"""Texts that may hold a function which is in no file: of callers, the prompt, written programs."""

from __future__ import annotations

import os
import stat
import sys
from collections import deque
from collections.abc import Iterator
from types import FrameType, FunctionType
from typing import Any

# The newest texts of programs that this package wrote, for `exec(to_script(model))`: a text that
# is given to `exec` at once is held by nothing that can be asked for it.
_written: deque[str] = deque(maxlen=8)
_WRITTEN_LIMIT = 1 << 22


def remember_text(text: str) -> None:
    """Keep a written program, so that its functions find their source where `exec` runs it.

    Args:
        text: the program; one of more than 4 million characters is not kept.
    """
    if len(text) <= _WRITTEN_LIMIT and text not in _written:
        _written.append(text)


def candidate_texts(function: FunctionType, depth: int) -> Iterator[str]:
    """Strings that may be the text: the command line, the callers' variables, typed lines."""
    mark = function.__name__ if function.__name__ != "<lambda>" else "lambda"
    arguments = list(getattr(sys, "orig_argv", ()))
    if "-c" in arguments[:-1]:
        yield arguments[arguments.index("-c") + 1]
    if function.__code__.co_filename == "<stdin>":
        yield from _standard_input()
    frame: FrameType | None = sys._getframe(depth)
    seen: set[int] = set()
    while frame is not None:
        holders: list[Any] = [frame.f_locals.values(), frame.f_code.co_consts]
        if frame.f_locals is not frame.f_globals:
            holders.append(frame.f_globals.values())
        for holder in holders:
            for item in list(holder):
                if isinstance(item, str) and mark in item and "\n" in item and id(item) not in seen:
                    seen.add(id(item))
                    yield item
        frame = frame.f_back
    yield from (text for text in reversed(_written) if mark in text)
    yield from _typed_lines(mark)


def _standard_input() -> Iterator[str]:
    """The script that Python reads from standard input, where that is a file."""
    try:
        size = os.fstat(0).st_size
        if stat.S_ISREG(os.fstat(0).st_mode):
            yield os.pread(0, size, 0).decode()
    except (OSError, ValueError):
        return


def _typed_lines(name: str) -> Iterator[str]:
    """The last definition typed at an interactive prompt, from the line editor's history."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    count = readline.get_current_history_length()
    lines = [readline.get_history_item(n) or "" for n in range(max(1, count - 2000), count + 1)]
    for start in range(len(lines) - 1, -1, -1):
        if lines[start].lstrip().startswith(f"def {name}"):
            first = start
            while first > 0 and lines[first - 1].startswith("@"):
                first -= 1
            yield "\n".join(lines[first:]) + "\n"
            return
