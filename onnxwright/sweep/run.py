"""Runs the units of a sweep, in this process or on a cluster."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from onnxwright.sweep.cluster import Cluster, Lost, Run, connect
from onnxwright.sweep.export import EXPORT, export_units, run_export
from onnxwright.sweep.journal import Journal
from onnxwright.sweep.results import Settings, UnitResult
from onnxwright.sweep.units import Outcome, Unit, draw, infos, run_unit, units


def measure(unit: Unit, settings: Settings, sample: int | None = None) -> UnitResult:
    """Run a unit in this process.

    Args:
        sample: run this sample alone; None for all.
    """
    begun = time.perf_counter()
    if EXPORT in settings.modes:
        result = run_export(unit, settings.limit, settings.opset_version, sample)
    else:
        result = run_unit(unit, settings.modes, settings.limit, settings.opset_version, sample)
    outcomes = tuple(result)
    return _result(unit, outcomes, time.perf_counter() - begun)


def _result(unit: Unit, outcomes: tuple[Outcome, ...], seconds: float) -> UnitResult:
    module = unit.function.body.__module__.rsplit(".", 1)[-1]
    return UnitResult(
        unit.key, unit.function.name, unit.test.name, unit.dtype, module, outcomes, seconds
    )


def run_units(
    todo: Sequence[Unit], settings: Settings, cluster: Cluster | None = None
) -> Iterator[UnitResult]:
    """Run units, in this process or on a cluster.

    A unit that ends its process is run again with each sample as a task of its own, so that a crash
    costs one sample.

    Args:
        todo: the units, of the library's own table where there are several processes.
        cluster: where; None for this process.
    """
    if cluster is None or (cluster.workers <= 0 and cluster.scheduler is None):
        for unit in todo:
            yield measure(unit, settings)
        return
    by_key = {unit.key: unit for unit in todo}
    ended: list[Unit] = []
    tasks = {key: _Task(key, settings) for key in by_key}
    with connect(cluster, len(todo)) as run:
        for key, result in run(_run_task, tasks):
            if isinstance(result, Lost) and result.ended:
                ended.append(by_key[key])
            else:
                yield _read(by_key[key], settings, result)
        if ended:
            yield from _sample_by_sample(ended, settings, run)


@dataclass(frozen=True)
class _Task:
    """What a process is asked to run: a unit, or one of its samples."""

    key: str
    settings: Settings
    sample: int | None = None


def _run_task(task: _Task) -> dict[str, Any]:
    return measure(_unit(task), task.settings, task.sample).data()


def _count_samples(task: _Task) -> int:
    unit, limit = _unit(task), task.settings.limit
    count = sum(1 for _ in draw(infos()[unit.test.name], unit.dtype))
    return count if limit is None else min(count, limit)


def _unit(task: _Task) -> Unit:
    torch.set_num_threads(1)
    return _table(EXPORT in task.settings.modes)[task.key]


@functools.cache
def _table(exported: bool) -> dict[str, Unit]:
    return {unit.key: unit for unit in (export_units() if exported else units())}


def _read(unit: Unit, settings: Settings, result: dict[str, Any] | Lost) -> UnitResult:
    if not isinstance(result, Lost):
        return UnitResult.read(result)
    return _result(unit, _lost(unit, settings, -1, result.why), result.seconds)


def _lost(unit: Unit, settings: Settings, sample: int, why: str) -> tuple[Outcome, ...]:
    about = (unit.function.name, unit.test.name, unit.dtype)
    return tuple(Outcome(*about, mode, sample, "failed", why) for mode in settings.modes)


def _sample_by_sample(ended: Sequence[Unit], settings: Settings, run: Run) -> Iterator[UnitResult]:
    """The units that ended their process, each sample in a task."""
    by_key = {unit.key: unit for unit in ended}
    counts = dict(run(_count_samples, {key: _Task(key, settings) for key in by_key}))
    tasks = {}
    for key, count in counts.items():
        if isinstance(count, Lost):
            yield _read(by_key[key], settings, count)
        else:
            tasks.update({f"{key}#{n}": _Task(key, settings, n) for n in range(count)})
    parts: dict[str, list[UnitResult]] = {key: [] for key in by_key}
    for name, result in run(_run_task, tasks):
        task = tasks[name]
        unit = by_key[task.key]
        if isinstance(result, Lost):
            lost = _lost(unit, settings, task.sample or 0, result.why)
            parts[unit.key].append(_result(unit, lost, result.seconds))
        else:
            parts[unit.key].append(UnitResult.read(result))
    for several in filter(None, parts.values()):
        outcomes = [outcome for part in several for outcome in part.outcomes]
        outcomes.sort(key=lambda o: (o.sample, settings.modes.index(o.mode)))
        seconds = sum(part.seconds for part in several)
        yield replace(several[0], outcomes=tuple(outcomes), seconds=seconds)


def sweep(
    todo: Sequence[Unit],
    settings: Settings,
    *,
    cluster: Cluster | None = None,
    journal: Journal | None = None,
    each: Callable[[UnitResult], object] | None = None,
) -> list[UnitResult]:
    """Run the units that the journal does not have.

    Args:
        cluster: where; None for this process.
        journal: where finished units are recorded.
        each: called with each result, those of the journal first.

    Returns:
        The results, in the order of `todo`.
    """
    order = {unit.key: n for n, unit in enumerate(todo)}
    results = [r for r in (journal.done if journal else []) if r.key in order]
    report = each or (lambda _: None)
    for result in results:
        report(result)
    had = {r.key for r in results}
    rest = [unit for unit in todo if unit.key not in had]
    for result in run_units(rest, settings, cluster):
        if journal is not None:
            journal.add(result)
        results.append(result)
        report(result)
    return sorted(results, key=lambda r: order[r.key])


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
