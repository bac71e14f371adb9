"""`onnxwright check --watch`: checks files again each time they, or modules they import, change."""

from __future__ import annotations

import linecache
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

# Seconds between two looks at the files.
INTERVAL = 0.5


def watch(
    files: Sequence[str],
    check: Callable[[], int],
    *,
    sleep: Callable[[float], None] = time.sleep,
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
) -> int:
    """Check files now, and again after each change of one of them, until Ctrl-C.

    The modules that the files import are watched and read again, too, where they are the user's:
    outside the folders of installed packages.

    Args:
        check: checks them once; gives an exit status.
        sleep: waits between two looks; KeyboardInterrupt ends the watch.
        say: prints a line for the user.

    Returns:
        The exit status of the last check.

    Example:
        >>> def stop(seconds):
        ...     raise KeyboardInterrupt
        >>> watch(["nowhere.py"], lambda: 2, sleep=stop, say=print)
        checked 1 file; waiting for a change, Ctrl-C ends
        2
    """
    own = frozenset(sys.modules)
    status = 0
    try:
        while True:
            linecache.checkcache()
            # What changes while the files are read is seen at the next look.
            before = _stamps(files)
            status = check()
            imported = _imported(own)
            seen = {**_stamps(imported.values()), **before}
            noun = "file" if len(files) == 1 else "files"
            say(f"checked {len(files)} {noun}; waiting for a change, Ctrl-C ends")
            while _stamps(seen) == seen:
                sleep(INTERVAL)
            for name in imported:
                sys.modules.pop(name, None)
    except KeyboardInterrupt:
        return status


def _stamps(files: Iterable[str]) -> dict[str, tuple[int, int] | None]:
    """When each file was written, and its size; None where there is no file."""
    stamps: dict[str, tuple[int, int] | None] = {}
    for file in files:
        try:
            facts = Path(file).stat()
            stamps[file] = (facts.st_mtime_ns, facts.st_size)
        except OSError:
            stamps[file] = None
    return stamps


def _imported(own: frozenset[str]) -> Mapping[str, str]:
    """The user's modules that are loaded now and were not before, with their files."""
    imported = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name not in own and isinstance(file, str) and file.endswith(".py"):
            if not _is_installed(file):
                imported[name] = file
    return imported


def _is_installed(file: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to this one."""
    folders = {sys.prefix, sys.base_prefix, str(Path(__file__).resolve().parents[1])}
    parts = Path(file).parts
    return (
        "site-packages" in parts
        or "dist-packages" in parts
        or any(os.path.realpath(file).startswith(folder + os.sep) for folder in folders)
    )
