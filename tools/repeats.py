"""Writes `tests/repeats.txt`: dear cases of tables that run no line which others do not run, too.

    python -m pytest -n 0 -p tests.harness.blocks --blocks=/tmp/blocks
    python -m tools.repeats /tmp/blocks.*

They are slow: the default run has the other cases of their tables, and runs every line of the
package that it ran with them.  With `--keep` the list keeps what it has, for a run that left these
cases out, was of some folders, or was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "repeats.txt"
# Each case is the proof of one operator, error, rule, text or limit, whichever lines it shares.
WHOLE = (
    "tests/atenlib/test_opinfo.py::test_share[",
    "tests/converter/test_depth.py",
    "tests/converter/test_errors.py",
    "tests/optimizer/test_library.py",
    "tests/test_docs.py",
    "tests/test_doctests.py",
    "tests/test_scale.py",
)
# Programs that keep state: no block says whether it is right.
_OF_STATE = ("state", "test_state")


@dataclass(frozen=True)
class Measured:
    """A test of a run.

    Fields:
        name: as pytest gives it.
        seconds: processor time.
        blocks: for each block of the package whether it ran.
        elsewhere: whether it starts processes, whose blocks are not seen.
    """

    name: str
    seconds: float
    blocks: np.ndarray
    elsewhere: bool = False

    @property
    def table(self) -> str:
        """The test without the parameters; as the name where it has none."""
        return self.name.partition("[")[0]


def read(files: Iterable[Path]) -> list[Measured]:
    """The tests of what `tests.harness.blocks` has written.

    Args:
        files: one for each process.

    Returns:
        The tests.
    """
    tests = []
    for file in files:
        with file.open(encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                flags = zlib.decompress(b64decode(line["blocks"]))
                blocks = np.frombuffer(flags, dtype=np.uint8).astype(bool)
                tests.append(Measured(line["test"], line["seconds"], blocks, line["elsewhere"]))
    return tests


def may_be_listed(name: str) -> bool:
    """Whether a test may be slow because of what others run.

    Args:
        name: as pytest gives it.

    Example:
        >>> may_be_listed("tests/exporter/test_state_programs.py::test_a[1]")
        False
    """
    file = name.partition("::")[0].rpartition("/")[2]
    return not name.startswith(WHOLE) and not file.startswith(_OF_STATE)


def repeats(tests: Sequence[Measured], least: float, kept: Iterable[str] = ()) -> list[str]:
    """The cases that may be left out, the dearest first.

    Args:
        tests: of one run.
        least: processor seconds that a case has to take.
        kept: cases that the list has already.

    Returns:
        Names of cases: the others run every block, and a quarter of each table stays.

    Example:
        >>> first, second = np.array([True, False]), np.array([True, True])
        >>> names = ["t.py::t[a]", "t.py::t[b]", "t.py::u"]
        >>> repeats([Measured(n, 1, b) for n, b in zip(names, (first, second, first))], 0.2)
        ['t.py::t[a]']
    """
    count = np.zeros(max((len(test.blocks) for test in tests), default=0), dtype=np.int32)
    for test in tests:
        count += test.blocks
    left = Counter(test.table for test in tests)
    names = {*kept, *(test.name for test in tests)}
    whole = Counter(name.partition("[")[0] for name in names)
    fewest = {table: -(-n // 4) for table, n in whole.items()}
    found = []
    for test in sorted(tests, key=lambda test: (-test.seconds, test.name)):
        if test.seconds < least or test.elsewhere or not may_be_listed(test.name):
            continue
        if test.name == test.table or left[test.table] <= fewest[test.table]:
            continue
        if (count[test.blocks] > 1).all():
            count -= test.blocks
            left[test.table] -= 1
            found.append(test.name)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the list.

    Args:
        arguments: the command line.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.repeats")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=0.05, help="what a case has to take")
    parser.add_argument("--keep", action="store_true", help="keep the lines of the list")
    given = parser.parse_args(arguments)
    kept = LIST.read_text(encoding="utf-8").splitlines() if given.keep else []
    tests = [test for test in read(given.files) if test.name not in kept]
    times = {test.name: test.seconds for test in tests}
    found = repeats(tests, given.seconds, kept)
    listed = sorted({*found, *kept})
    LIST.write_text("".join(f"{name}\n" for name in listed), encoding="utf-8")
    print(
        f"{len(found)} of {len(tests)} cases: {sum(map(times.__getitem__, found)):.0f} of", end=" "
    )
    print(f"{sum(times.values()):.0f} seconds; {len(listed)} in the list")
    return 0


if __name__ == "__main__":
    sys.exit(main())
