"""Runs independent tasks in processes that may crash: a dask cluster, here or on many machines.

A task that ends its process (a segmentation fault of a runtime, too much memory) or that does not
finish in time gives a `Lost` result; dask's nanny starts a new process, and the other tasks run on.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Run = Callable[[Callable[[Any], Any], Mapping[str, Any]], Iterator[tuple[str, Any]]]

_STARTED = "onnxwright-task-started"
# One task a process, and no second process for a task that ended its first one.
_LOCAL = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.work-stealing": False,
    # A task that holds Python's lock for minutes sends no heartbeat; the time limit ends it.
    "distributed.scheduler.worker-ttl": None,
    "distributed.comm.timeouts.connect": "60s",
    # A profiler in another thread holds the frames of a capture now and then.  PyTorch then copies
    # what `torch.full` and the like made, and does not see where the copy came from.
    "distributed.worker.profile.enabled": False,
}
# The processes are of one thread each: they share the cores.
_ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Cluster:
    """Where tasks run.

    Fields:
        workers: how many processes on this machine; 0 runs the tasks in this process.
        scheduler: the address of a running dask scheduler, `tcp://host:8786`, used in place of
            processes on this machine; its workers need the same packages.
        timeout: seconds after which the process of a task is ended.
        memory: the memory of each process on this machine, such as `4GB`; None for no limit.
        dashboard: serve dask's dashboard at this address, such as `:8787`; needs bokeh.
    """

    workers: int = 0
    scheduler: str | None = None
    timeout: float = 600.0
    memory: str | None = None
    dashboard: str | None = None


@dataclass(frozen=True)
class Lost:
    """The result of a task that ended its process, was late, or raised.

    Fields:
        why: what happened.
        seconds: how long it ran, where that is known.
        ended: whether its process ended.
    """

    why: str
    seconds: float = 0.0
    ended: bool = False


def run_tasks(
    function: Callable[[Any], Any], tasks: Mapping[str, Any], cluster: Cluster
) -> Iterator[tuple[str, Any]]:
    """Run a function on each of many arguments.

    Args:
        function: a function of one argument, defined in a module that every process can import.
        tasks: the argument of each task by its name; arguments and results are pickled.
        cluster: where.

    Yields:
        The name of a task and its result, or a `Lost`, in the order in which they finish.

    Raises:
        ModuleNotFoundError: processes are asked for and `distributed` is not installed.
        OSError: there is no scheduler at the address.

    Example:
        >>> outcomes = dict(run_tasks(len, {"a": [1, 2], "b": 3}, Cluster()))
        >>> outcomes["a"], outcomes["b"].why
        (2, "TypeError: object of type 'int' has no len()")
    """
    with connect(cluster, len(tasks)) as run:
        yield from run(function, tasks)


@contextlib.contextmanager
def connect(cluster: Cluster, most: int) -> Iterator[Run]:
    """Start the processes, or connect to the scheduler, for several calls.

    Args:
        cluster: where tasks run.
        most: no more processes than this are started.

    Yields:
        A function that takes what `run_tasks` takes first, and yields what it yields.
    """
    if cluster.workers <= 0 and cluster.scheduler is None:
        yield _run_here
        return
    with _client(cluster, most) as client:
        yield functools.partial(_collect, client, cluster.timeout)


def _run_here(
    function: Callable[[Any], Any], tasks: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    for name, argument in tasks.items():
        yield name, _here(function, argument)


def _here(function: Callable[[Any], Any], argument: Any) -> Any:
    try:
        return function(argument)
    except Exception as error:  # noqa: BLE001 - the result of a task may be any error
        return _raised(error)


def _raised(error: BaseException) -> Lost:
    text = str(error).strip().splitlines()
    return Lost(f"{type(error).__name__}: {text[0][:300] if text else ''}")


@contextlib.contextmanager
def _client(cluster: Cluster, tasks: int) -> Iterator[Any]:
    """A connection to the scheduler that was named, or to one of this machine."""
    import dask
    import distributed

    if cluster.scheduler is not None:
        with distributed.Client(cluster.scheduler, set_as_default=False) as client:
            yield client
        return
    threads = dict.fromkeys(_ONE_THREAD, 1)
    with (
        dask.config.set({**_LOCAL, "distributed.nanny.pre-spawn-environ": threads}),
        distributed.LocalCluster(
            n_workers=max(1, min(cluster.workers, tasks)),
            threads_per_worker=1,
            processes=True,
            memory_limit=cluster.memory or 0,
            # Without a dashboard dask still listens, at a port that another cluster may have.
            scheduler_kwargs={
                "dashboard": cluster.dashboard is not None,
                "dashboard_address": cluster.dashboard or "127.0.0.1:0",
            },
            silence_logs=logging.CRITICAL,
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield client


def _collect(
    client: Any, timeout: float, function: Callable[[Any], Any], tasks: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    import distributed

    begun: dict[str, float] = {}
    topic = f"{_STARTED}-{os.getpid()}-{id(begun)}"
    # The worker says when: a busy client hears of it late.
    client.subscribe_topic(topic, lambda event: begun.__setitem__(*event[1]))
    names = {}
    for name, argument in tasks.items():
        future = client.submit(
            _guarded, function, argument, name, topic, timeout, pure=False, retries=0
        )
        names[future] = name
    waiting = distributed.as_completed(
        names, loop=client.loop, with_results=True, raise_errors=False
    )
    for future, result in waiting:
        name = names.pop(future)
        if future.status == "error":
            seconds = time.time() - begun[name] if name in begun else 0.0
            result = _failure(future.exception(), seconds, timeout)
        future.release()
        yield name, result


def _failure(error: BaseException, seconds: float, timeout: float) -> Lost:
    import distributed

    if not isinstance(error, distributed.KilledWorker):
        return _raised(error)
    if seconds >= timeout:
        return Lost(f"not done after {timeout:g} s", seconds, ended=True)
    why = "its process ended (a crash of a library, or too much memory)"
    return Lost(why, seconds, ended=True)


def _guarded(
    function: Callable[[Any], Any], argument: Any, name: str, topic: str, timeout: float
) -> Any:
    """Run a task in a process of the cluster."""
    import distributed

    distributed.get_worker().log_event(topic, (name, time.time()))
    # The threads of C code that does not end cannot be stopped from Python: the process ends.
    faulthandler.dump_traceback_later(timeout, exit=True)
    try:
        return function(argument)
    finally:
        faulthandler.cancel_dump_traceback_later()
