# ruff: noqa: T201, S311 - a command prints, and nothing is secret here
"""Damages models, bytes, scripts and saves for a given time, and prints how the cases ended.

    python -m tests.fuzzing --seconds 60
    python -m tests.fuzzing --seconds 600 --kind models --seed 7

A case ends well when it is done or refused with an error of ours.  Cases run in child processes:
one that kills its process is counted as wrong, and the rest goes on.  The status is 1 where a case
ended otherwise; `--case SEED` runs one of them again.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

from tests.fuzzing.entries import STOPPED
from tests.fuzzing.runs import KINDS, one
from tests.harness.node_cases import node_cases

BATCH = {
    "models": 150,
    "structures": 150,
    "rare": 150,
    "bytes": 150,
    "tokens": 60,
    "scripts": 60,
    "kill": 4,
}
"""Cases a child process runs before the next one starts."""

_MEMORY = 12 << 30
_SILENT = (60.0, 600.0)
"""Seconds of a child's own time, and of the clock, without a line from it."""


def fuzz(
    kind: str, seed: int, seconds: float, wrong: Callable[[str, int, str], object]
) -> Counter[str]:
    """Run cases of one kind for a time.

    Args:
        kind: one of `KINDS`.
        seed: the seed of the first case; the next one has the next number.
        seconds: how long.
        wrong: called with the kind, the seed and the reason of each case that ended wrong.

    Returns:
        How many cases ended how.
    """
    if kind in ("structures", "rare"):
        node_cases()  # once, not in each child
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        seed = _batch(kind, seed, end, counts, wrong)
    return counts


def _batch(
    kind: str,
    seed: int,
    end: float,
    counts: Counter[str],
    wrong: Callable[[str, int, str], object],
) -> int:
    """Run some cases in a child process; gives the seed of the next case."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            _child(kind, seed, end, write)
        finally:
            os._exit(1)
    os.close(write)
    started = seed
    watch = _Watch(child)
    with os.fdopen(read) as lines:
        for line in lines:
            watch.heard()
            started, how, text = json.loads(line)
            if how != "started":
                counts[how] += 1
                if how == "WRONG":
                    wrong(kind, started, text)
    watch.end()
    _, status = os.waitpid(child, 0)
    if status != 0:
        counts["WRONG"] += 1
        wrong(kind, started, f"the process died with status {status}")
    return started + 1


class _Watch:
    """Ends a child that is silent for too long: a signal does not interrupt native code."""

    def __init__(self, child: int) -> None:
        self.child, self.over = child, threading.Event()
        self.last = (0.0, time.monotonic())
        threading.Thread(target=self._run, daemon=True).start()

    def heard(self) -> None:
        """A line came."""
        self.last = (self._used(), time.monotonic())

    def end(self) -> None:
        """Nothing more will come."""
        self.over.set()

    def _run(self) -> None:
        while not self.over.wait(2):
            used, since = self.last
            if self._used() - used > _SILENT[0] or time.monotonic() - since > _SILENT[1]:
                os.kill(self.child, signal.SIGKILL)
                return

    def _used(self) -> float:
        """Processor time of the child, in seconds; 0 where the system does not say."""
        try:
            fields = Path(f"/proc/{self.child}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _child(kind: str, seed: int, end: float, write: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    with os.fdopen(write, "w") as out:
        for number in range(seed, seed + BATCH[kind]):
            out.write(json.dumps([number, "started", ""]) + "\n")
            out.flush()
            STOPPED[:] = [partial(_left, out, number)]
            how, text = one(kind, number)
            out.write(json.dumps([number, how, text]) + "\n")
            out.flush()
            if time.monotonic() > end:
                break
    os._exit(0)


def _left(out: TextIO, number: int) -> None:
    """Report a case whose Loop does not end, and end its process: nothing else ends it."""
    out.write(json.dumps([number, "endless", ""]) + "\n")
    out.flush()
    os._exit(0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz and print a table.

    Args:
        arguments: the command line.

    Returns:
        The status: 1 where a case ended wrong.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kind", choices=KINDS, action="append", help="all of them by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="run one case and print how it ends")
    parser.add_argument("--show", type=int, default=10, help="different failures to print")
    given = parser.parse_args(arguments)
    kinds = given.kind or list(KINDS)
    if given.case is not None:
        how, text = one(kinds[0], given.case)
        print(f"{how}: {text}")
        return int(how == "WRONG")
    failures: dict[str, tuple[str, int, str]] = {}
    times: Counter[str] = Counter()

    def note(kind: str, seed: int, text: str) -> None:
        last = f"{kind} {text.split(':')[0]}: {text.strip().splitlines()[-1][:90]}"
        times[last] += 1
        if last not in failures:
            print(f"WRONG --kind {kind} --case {seed}: {last}", file=sys.stderr, flush=True)
        failures.setdefault(last, (kind, seed, text))

    bad = 0
    for kind in kinds:
        counts = fuzz(kind, given.seed, given.seconds / len(kinds), note)
        bad += counts["WRONG"]
        ends = ", ".join(
            f"{how} {counts[how]:,}" for how in ("done", "refused", "endless", "WRONG")
        )
        print(f"{kind:8} {sum(counts.values()):8,} cases: {ends}", flush=True)
    for last, (kind, seed, text) in list(failures.items())[: given.show]:
        print(f"\n--- {times[last]} times, first: --kind {kind} --case {seed}\n{text}")
    for last, count in times.most_common():
        print(f"{count:6}  {last}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
