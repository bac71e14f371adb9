"""The journal of a sweep: finished units as lines of JSON, to resume from and to merge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnxwright.ir.writing import write_file
from onnxwright.sweep.results import Settings, UnitResult


class Journal:
    """A file with a line of JSON for each finished unit, after one with the settings.

    Args:
        path: the file.
        settings: of the sweep.
        resume: go on with a file that is there; else it is written anew.

    Raises:
        ValueError: the file is of a sweep with other settings.
    """

    def __init__(self, path: Path, settings: Settings, *, resume: bool = False) -> None:
        self.path = path
        self.done: list[UnitResult] = []
        head = settings.data()
        if resume and path.exists():
            self.done = _read_journal(path, head)
        lines = [head, *(r.data() for r in self.done)]
        # Written again whole: the last line of a sweep that was stopped may be half a line.
        write_file(path, "".join(json.dumps(line) + "\n" for line in lines))

    def add(self, result: UnitResult) -> None:
        """Add a finished unit."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result.data()) + "\n")


def merge(paths: Sequence[Path]) -> tuple[Settings, dict[str, Any], list[UnitResult]]:
    """Read the journals of the parts of a sweep as one.

    Args:
        paths: the journals. Of a unit that is in several, the last one counts.

    Returns:
        The settings, what the journals say of settings and versions, and the results.

    Raises:
        ValueError: they are of sweeps with other settings or versions, or not journals.
    """
    head = _read_head(paths[0])
    results: dict[str, UnitResult] = {}
    for path in paths:
        results.update((result.key, result) for result in _read_journal(path, head))
    settings = Settings(tuple(head["modes"]), head["limit"], head["opset"])
    return settings, head, list(results.values())


def _read_head(path: Path) -> dict[str, Any]:
    try:
        head = json.loads(path.read_text(encoding="utf-8").partition("\n")[0])
        is_complete = {"modes", "limit", "opset"} <= set(head)
    except (ValueError, TypeError):
        is_complete = False
    if not is_complete:
        raise ValueError(f"{path} is not the journal of a sweep")
    return dict(head)


def _read_journal(path: Path, head: dict[str, Any]) -> list[UnitResult]:
    if not path.read_bytes():
        return []
    before = _read_head(path)
    if before != head:
        differ = [k for k in head if before.get(k) != head[k]]
        raise ValueError(
            f"{path} is of another sweep: {', '.join(f'{k} was {before.get(k)}' for k in differ)}"
        )
    lines = path.read_text(encoding="utf-8").split("\n")
    # What follows the last line end was being written when the sweep was stopped.
    return [UnitResult.read(json.loads(line)) for line in lines[1:-1]]
