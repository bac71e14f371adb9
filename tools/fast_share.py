"""Writes `tests/full.txt`, the test files that a developer's quick loop leaves out.

    python -m pytest -n 2 --junitxml=/tmp/times.xml
    python -m tools.fast_share /tmp/times.xml --seconds 50

Files are taken from the quickest on until their tests take the given time in one process; the
others are listed, and `pytest -m "not slow and not full"` does not even collect them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.junit import read_cases, seconds_by_file

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "full.txt"


def left_out(times: Mapping[str, float], seconds: float) -> list[str]:
    """The files that do not fit.

    Args:
        times: seconds by file.
        seconds: how long the others may take together.

    Returns:
        Paths, sorted.

    Example:
        >>> left_out({"a.py": 1, "b.py": 5, "c.py": 2}, 4)
        ['b.py']
    """
    used, found = 0.0, []
    for path, time in sorted(times.items(), key=lambda item: item[1]):
        used += time
        if used > seconds:
            found.append(path)
    return sorted(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the list.

    Args:
        arguments: the command line.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.fast_share")
    parser.add_argument("report", type=Path)
    parser.add_argument("--seconds", type=float, default=50.0)
    given = parser.parse_args(arguments)
    times = seconds_by_file(read_cases(given.report))
    listed = left_out(times, given.seconds)
    LIST.write_text("".join(f"{path}\n" for path in listed), encoding="utf-8")
    print(f"{len(times) - len(listed)} files in the fast share, {len(listed)} left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
