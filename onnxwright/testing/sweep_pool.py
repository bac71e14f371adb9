"""Runs the units of a sweep in several processes, with a journal to resume from."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import torch

from onnxwright.ir.writing import write_file
from onnxwright.testing.sweep import MODES, OPSET, Outcome, Unit, run_unit, units
from onnxwright.testing.sweep_export import EXPORT, export_units, run_export
from onnxwright.version import __version__


@dataclass(frozen=True)
class Settings:
    """How the units of a sweep are run.

    Fields:
        modes: some of "eager", "graph", "dynamic", or "export" alone.
        limit: at most so many samples of each unit; None for all.
        opset_version: the version of the standard opset.
    """

    modes: tuple[str, ...] = MODES
    limit: int | None = None
    opset_version: int = OPSET

    def data(self) -> dict[str, Any]:
        """The settings with the versions of what is compared, for journals and reports."""
        return {
            "modes": list(self.modes),
            "limit": self.limit,
            "opset": self.opset_version,
            "onnxwright": __version__,
            "torch": torch.__version__,
            "onnxruntime": onnxruntime.__version__,
            "onnx": onnx.__version__,
            "python": platform.python_version(),
        }


@dataclass(frozen=True)
class UnitResult:
    """What became of the samples of a unit.

    Fields:
        key: the unit's.
        function, test, dtype: of the unit.
        module: where the function is, `unary`.
        outcomes: one for each sample and mode.
        seconds: how long it took, torch's part included.
    """

    key: str
    function: str
    test: str
    dtype: str
    module: str
    outcomes: tuple[Outcome, ...]
    seconds: float

    def data(self) -> dict[str, Any]:
        """As JSON has it; `read` is the way back."""
        short = [
            [o.mode, o.sample, o.status, o.why, round(o.seconds, 6), list(o.ran)]
            for o in self.outcomes
        ]
        return {**asdict(self), "outcomes": short, "seconds": round(self.seconds, 4)}

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> UnitResult:
        """A result from what `data` gave."""
        about = (data["function"], data["test"], data["dtype"])
        outcomes = tuple(
            Outcome(*about, mode, sample, status, why, seconds, tuple(ran))
            for mode, sample, status, why, seconds, ran in data["outcomes"]
        )
        return cls(**{**data, "outcomes": outcomes})


def measure(unit: Unit, settings: Settings) -> UnitResult:
    """Run a unit in this process.

    Args:
        unit: the unit.
        settings: how.

    Returns:
        What became of its samples.
    """
    begun = time.perf_counter()
    if EXPORT in settings.modes:
        outcomes = tuple(run_export(unit, settings.limit, settings.opset_version))
    else:
        outcomes = tuple(run_unit(unit, settings.modes, settings.limit, settings.opset_version))
    return _result(unit, outcomes, time.perf_counter() - begun)


def _result(unit: Unit, outcomes: tuple[Outcome, ...], seconds: float) -> UnitResult:
    module = unit.function.body.__module__.rsplit(".", 1)[-1]
    return UnitResult(
        unit.key, unit.function.name, unit.test.name, unit.dtype, module, outcomes, seconds
    )


def run_units(
    todo: Sequence[Unit],
    settings: Settings,
    *,
    workers: int = 0,
    timeout: float = 600.0,
) -> Iterator[UnitResult]:
    """Run units, in this process or in several.

    Args:
        todo: the units, of the library's own table where there are several processes.
        settings: how.
        workers: how many processes; 0 for this one.
        timeout: seconds after which the process of a unit is ended; its samples count as failed.

    Yields:
        The results as they come.
    """
    if workers <= 0:
        for unit in todo:
            yield measure(unit, settings)
        return
    queue = deque(todo)
    crew = [_Worker(settings) for _ in range(min(workers, len(todo)))]
    try:
        for worker in crew:
            worker.give(queue)
        while any(w.unit for w in crew):
            ready = wait([w.pipe for w in crew if w.unit], timeout=1.0)
            for worker in crew:
                result = worker.collect(ready, timeout)
                if result is not None:
                    yield result
                    worker.give(queue)
    finally:
        for worker in crew:
            worker.end()


_READY = "ready"
_NO_START = "a process of the sweep did not start; its error is above"


class _Worker:
    """One process, and the unit it is at."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.unit: Unit | None = None
        self.begun = 0.0
        self.ready = False
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, self.settings), daemon=True)
        self.process.start()
        self.ready = False
        theirs.close()

    def give(self, queue: deque[Unit]) -> None:
        """Send the next unit, if there is one."""
        if not queue:
            self.unit = None
            return
        self.unit = queue.popleft()
        self.begun = time.perf_counter()
        try:
            self.pipe.send(self.unit.key)
        except OSError as error:
            if not self.ready:
                raise RuntimeError(_NO_START) from error
            # It died with nothing to do: another takes the unit.
            self.pipe.close()
            self.start()
            self.pipe.send(self.unit.key)

    def collect(self, ready: Iterable[Any], timeout: float) -> UnitResult | None:
        """The result, if there is one; a process that is dead or late makes a failed one."""
        if self.unit is None:
            return None
        if self.pipe in ready:
            try:
                answer = self.pipe.recv()
            except (EOFError, OSError) as error:
                self.process.join()
                if not self.ready:
                    raise RuntimeError(_NO_START) from error
                return self._lost(f"the process died (exit code {self.process.exitcode})")
            if answer == _READY:
                self.ready, self.begun = True, time.perf_counter()
                return None
            if isinstance(answer, str):
                return self._lost(answer, restart=False)
            return UnitResult.read(answer)
        if time.perf_counter() - self.begun > timeout:
            self.process.kill()
            self.process.join()
            return self._lost(f"not done after {timeout:g} s")
        return None

    def _lost(self, why: str, *, restart: bool = True) -> UnitResult:
        unit = self.unit
        assert unit is not None
        if restart:
            self.pipe.close()
            self.start()
        outcomes = tuple(
            Outcome(unit.function.name, unit.test.name, unit.dtype, mode, -1, "failed", why)
            for mode in self.settings.modes
        )
        return _result(unit, outcomes, time.perf_counter() - self.begun)

    def end(self) -> None:
        """Close the pipe, on which the process ends; one that is busy is ended."""
        self.pipe.close()
        if self.unit is not None:
            self.process.kill()
        self.process.join()


def _serve(pipe: Connection, settings: Settings) -> None:
    """A process: unit keys come in, results go out."""
    torch.set_num_threads(1)
    every = export_units() if EXPORT in settings.modes else units()
    known = {unit.key: unit for unit in every}
    pipe.send(_READY)
    while True:
        try:
            key = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        try:
            pipe.send(measure(known[key], settings).data())
        except KeyboardInterrupt:
            return
        except Exception as error:  # noqa: BLE001 - the sweep goes on and reports it
            pipe.send(f"{type(error).__name__}: {error}")


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
        """Note a finished unit."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result.data()) + "\n")


def _read_journal(path: Path, head: dict[str, Any]) -> list[UnitResult]:
    lines = path.read_text(encoding="utf-8").split("\n")
    if not lines[0]:
        return []
    before = json.loads(lines[0])
    if before != head:
        differ = [k for k in head if before.get(k) != head[k]]
        raise ValueError(
            f"{path} is of another sweep: {', '.join(f'{k} was {before.get(k)}' for k in differ)}"
        )
    # What follows the last line end was being written when the sweep was stopped.
    return [UnitResult.read(json.loads(line)) for line in lines[1:-1]]


def sweep(
    todo: Sequence[Unit],
    settings: Settings,
    *,
    workers: int = 0,
    timeout: float = 600.0,
    journal: Journal | None = None,
    each: Callable[[UnitResult], object] | None = None,
) -> list[UnitResult]:
    """Run the units that the journal does not have.

    Args:
        todo: the units.
        settings: how.
        workers: how many processes; 0 for this one.
        timeout: seconds for one unit.
        journal: where finished units are recorded.
        each: called with each result, those of the journal first.

    Returns:
        The results, in the order of `todo`.
    """
    wanted = {unit.key: n for n, unit in enumerate(todo)}
    found = [r for r in (journal.done if journal else []) if r.key in wanted]
    report = each or (lambda _: None)
    for result in found:
        report(result)
    had = {r.key for r in found}
    rest = [unit for unit in todo if unit.key not in had]
    for result in run_units(rest, settings, workers=workers, timeout=timeout):
        if journal is not None:
            journal.add(result)
        found.append(result)
        report(result)
    return sorted(found, key=lambda r: wanted[r.key])


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


__all__ = ["Journal", "Settings", "UnitResult", "measure", "processors", "run_units", "sweep"]
