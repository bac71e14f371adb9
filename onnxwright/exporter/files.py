"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import TracebackType

from typing_extensions import Self


def staged_path(path: Path) -> Path:
    """The temporary name, in the same folder, of a file that is being written."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def write_text(path: Path, text: str) -> None:
    """Write a text file under a temporary name, then rename it.

    Args:
        path: the file.
        text: its contents.
    """
    with Staging() as files:
        files.stage(path).write_text(text, encoding="utf-8")


class Staging:
    """Files and folders that are written under temporary names, and put in place together.

    On an error nothing is put in place, and what stood there before stands there again.
    """

    def __init__(self) -> None:
        self._pairs: list[tuple[Path, Path]] = []

    def stage(self, final: Path) -> Path:
        """The temporary name for a file or folder; those that refer to others are staged last.

        Args:
            final: where it will be.

        Returns:
            Where to write it.
        """
        staged = staged_path(final)
        self._pairs.append((staged, final))
        return staged

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._place()
        finally:
            for staged, _ in self._pairs:
                _remove(staged)

    def _place(self) -> None:
        if len(self._pairs) == 1 and self._pairs[0][0].is_file():
            staged, final = self._pairs[0]
            staged.replace(final)
            return
        aside: list[tuple[Path, Path]] = []
        placed: list[Path] = []
        try:
            # A process that is killed here leaves no file rather than one beside others' parts.
            for staged, final in reversed(self._pairs):
                if final.exists():
                    old = staged.with_suffix(".old")
                    final.replace(old)
                    aside.append((old, final))
            for staged, final in self._pairs:
                staged.replace(final)
                placed.append(final)
        except BaseException:
            for final in placed:
                _remove(final)
            for old, final in aside:
                old.replace(final)
            raise
        for old, _ in aside:
            _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
