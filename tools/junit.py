"""What a JUnit file of pytest says: how long each test took, and which were skipped and why.

python -m pytest -n 2 --junitxml=/tmp/times.xml
python -m tools.report --junit /tmp/times.xml
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Case:
    """One test of a run.

    Fields:
        path: its file, from the root of the repository; empty if the file is not there any more.
        name: the class, if it stands in one, the function and the parameters, as in
            `tests/test_docs.py::test_page_is_true[guide/types.md]`.
        seconds: how long it took, with its fixtures.
        reason: why it was skipped; None if it ran.
    """

    path: str
    name: str
    seconds: float
    reason: str | None = None


def read_cases(file: Path) -> list[Case]:
    """The tests of a run, in the order of the file.

    Args:
        file: written by `pytest --junitxml`.

    Raises:
        OSError: the file cannot be read.
        xml.etree.ElementTree.ParseError: it is not XML.
    """
    tree = ET.parse(file)  # noqa: S314 - written by the developer's own pytest
    cases = []
    for element in tree.iter("testcase"):
        owner, test = element.get("classname", ""), element.get("name", "")
        if not owner:  # a file that was skipped whole: its name stands in place of a test's
            owner, test = test, ""
        path, classes = _split(owner)
        name = "::".join(filter(None, [path or owner, *classes, test]))
        reason = _reason(element.find("skipped"))
        cases.append(Case(path, name, float(element.get("time", 0)), reason))
    return cases


def _reason(skipped: ET.Element | None) -> str | None:
    """Why a test was skipped; the reason of a whole file is in the text, after `Skipped: `."""
    if skipped is None:
        return None
    whole = re.search(r"Skipped: (.*?)['\"]\)?$", skipped.text or "")
    message = skipped.get("message", "")
    return whole[1] if message == "collection skipped" and whole else message


def _split(owner: str) -> tuple[str, list[str]]:
    """The file of `tests.exporter.test_rnn` or of a class in it, and the class."""
    parts = owner.split(".")
    classes: list[str] = []
    while parts:
        path = "/".join(parts) + ".py"
        if (ROOT / path).exists():
            return path, classes
        classes.insert(0, parts.pop())
    return "", []


def seconds_by_file(cases: Sequence[Case]) -> dict[str, float]:
    """How long the tests of each file took.

    Args:
        cases: the tests of a run.

    Returns:
        Seconds by path; files that are not there any more are left out.

    Example:
        >>> seconds_by_file([Case("a.py", "a.py::test_x", 1.0), Case("a.py", "a.py::test_y", 0.5)])
        {'a.py': 1.5}
    """
    seconds: dict[str, float] = {}
    for case in cases:
        if case.path:
            seconds[case.path] = seconds.get(case.path, 0.0) + case.seconds
    return seconds


def summary_lines(cases: Sequence[Case], longest: int = 10) -> list[str]:
    r"""The total, the tests that took longest, and the skipped tests by their reasons.

    Args:
        cases: the tests of a run.
        longest: how many tests are listed with their times.

    Returns:
        Lines of text.

    Example:
        >>> cases = [Case("a.py", "a.py::test_x", 1.5), Case("a.py", "a.py::test_y", 0.0, "no GPU")]
        >>> print("\n".join(summary_lines(cases)))
        2 tests, 1.5 s
        the longest:
             1.5 s  a.py::test_x
             0.0 s  a.py::test_y
        skipped: 1
              1  a.py: no GPU
    """
    total = sum(case.seconds for case in cases)
    by_time = sorted(cases, key=lambda case: case.seconds, reverse=True)[:longest]
    skipped = Counter(
        (case.path or case.name, case.reason) for case in cases if case.reason is not None
    )
    return [
        f"{len(cases)} tests, {total:.1f} s",
        "the longest:",
        *(f"  {case.seconds:6.1f} s  {case.name}" for case in by_time),
        f"skipped: {skipped.total()}",
        *(f"  {count:5}  {path}: {reason}" for (path, reason), count in skipped.most_common()),
    ]
