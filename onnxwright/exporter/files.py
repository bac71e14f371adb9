"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def staged_path(path: Path) -> Path:
    """The temporary name, in the same folder, of a file that is being written."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def write_text(path: Path, text: str) -> None:
    """Write a text file under a temporary name, then rename it.

    Args:
        path: the file.
        text: its contents.
    """
    staged = staged_path(path)
    try:
        staged.write_text(text, encoding="utf-8")
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
