"""Tasks run in processes that may crash, and a lost one costs itself only."""

from __future__ import annotations

import os
import signal
import time
import warnings
from typing import Any

import pytest

from onnxwright.sweep.cluster import Cluster, Lost, run_tasks

distributed = pytest.importorskip("distributed", reason="it starts the processes")


def _end_process(argument: str) -> str:
    """Some arguments end the process, or do not end."""
    if argument == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if argument == "exit":
        os._exit(3)
    if argument == "late":
        time.sleep(600)
    if argument == "raise":
        raise ValueError("as asked")
    return argument.upper()


def test_a_task_that_ends_its_process_costs_itself_only() -> None:
    names = ["a", "crash", "b", "exit", "late", "c", "raise", "d"]
    found = dict(run_tasks(_end_process, {n: n for n in names}, Cluster(workers=2, timeout=2.0)))
    lost = {n: found.pop(n) for n in ("crash", "exit", "late", "raise")}
    assert found == {n: n.upper() for n in "abcd"}
    assert all(isinstance(r, Lost) for r in lost.values())
    assert [n for n, r in lost.items() if r.ended] == ["crash", "exit", "late"]
    assert lost["late"].why == "not done after 2 s"
    assert lost["raise"].why == "ValueError: as asked"


def test_two_clusters_run_side_by_side() -> None:
    """Each has its own ports; dask warns where the second meets those of the first."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outer = run_tasks(len, {"a": [1], "b": [1, 2]}, Cluster(workers=1))
        first = next(outer)
        assert dict(run_tasks(len, {"c": [1, 2, 3]}, Cluster(workers=1))) == {"c": 3}
        assert dict([first, *outer]) == {"a": 1, "b": 2}


def test_a_scheduler_that_runs_already_is_used() -> None:
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        host="127.0.0.1",
        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
    ) as cluster:
        where = Cluster(scheduler=cluster.scheduler_address)
        assert dict(run_tasks(len, {"a": [1, 2]}, where)) == {"a": 2}


def is_profiled(_: Any) -> bool:
    import dask

    return bool(dask.config.get("distributed.worker.profile.enabled"))


def test_no_thread_holds_the_frames_of_a_task() -> None:
    """A capture of PyTorch goes wrong where one does."""
    assert dict(run_tasks(is_profiled, {"one": 0}, Cluster(1))) == {"one": False}
