"""What every test may rely on: fixed seeds, no network, fresh processes to order."""

from __future__ import annotations

import functools
import gc
import importlib.util
import inspect
import os
import re
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

# Read once by libraries as they load, and by the processes that tests start: workers share the
# cores, and a thread that waits for work spends the time of another worker.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.harness.forked import LIGHT, Forks
from tests.harness.oldest import limit_of
from tests.harness.shares import left_out

ROOT = Path(__file__).resolve().parent.parent

# The same examples on every machine; `--hypothesis-profile=search` looks for new ones.
settings.register_profile(
    "fixed",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("fixed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--providers", help="run on these execution providers, separated by commas")
    parser.addoption(
        "--share", type=int, default=0, metavar="K", help="of share(n) take the cases K, K + n, ..."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let sessions that ask for no provider have those of the command line, and count them."""
    given = config.getoption("--providers")
    if not given:
        return
    from onnxwright.eager.ort import sessions

    names, make = given.split(","), sessions.new_session

    def new_session(model: Any, options: Any, providers: Any) -> Any:
        made = make(model, options, names if providers is None else providers)
        _sessions[",".join(made.get_providers())] += 1
        return made

    sessions.check_providers(names)
    sessions.new_session = new_session  # type: ignore[assignment]


_sessions: Counter[str] = Counter()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for providers, count in _sessions.items():
        terminalreporter.write_line(f"sessions on {providers}: {count}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """The garbage collector does not run while tests are collected, and runs rarely afterwards.

    Exported programs are large and short-lived: looking at them often takes a thirtieth of the time
    of all tests.  What is loaded by then is old for it at once: it would look at it all first.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.unfreeze()
        gc.set_threshold(50_000, 20, 10)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """Pytest collects garbage five times after this, of millions of objects: once is enough."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each worker takes a run of neighbouring tests, which share what their files keep.

    A worker that is done takes half of what another still has.
    """
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def _leave_shares(items: Sequence[pytest.Item], first: int) -> None:
    """Mark the cases of tests with `share(n)` as slow, but for one in n, or in n of each group.

    `share(n, by=function)`: the function takes the parameters of a case and gives its group.
    """
    shared, cases = [], []
    for item in items:
        share = item.get_closest_marker("share")
        if share is None:
            continue
        group_of = share.kwargs.get("by", lambda **_: None)
        assert isinstance(item, pytest.Function)
        group = item.nodeid.partition("[")[0], group_of(**item.callspec.params)
        shared.append(item)
        cases.append((group, share.args[0]))
    for item, is_left_out in zip(shared, left_out(cases, first)):
        if is_left_out:
            item.add_marker(pytest.mark.slow)


FAST = "not slow and not full"
FULL = frozenset((ROOT / "tests" / "full.txt").read_text(encoding="utf-8").split())

REPEATS = frozenset((ROOT / "tests" / "repeats.txt").read_text(encoding="utf-8").splitlines())


# Files whose single tests take longest, and others that fork from a process that has torch: one
# worker begins with them all, so that the other needs no such process.
FIRST = (
    "tests/test_site.py",
    "tests/typing/test_checkers.py",
    "tests/test_examples.py",
    "tests/test_benchmarks.py",
)


@functools.cache
def _in_repository(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The quick loop does not import files whose tests take long."""
    if config.option.markexpr != FAST or _asks_for_a_test(config):
        return None
    return True if _in_repository(collection_path) in FULL else None


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what the default run and the quick loop leave out, and skip what is too new."""
    first = config.getoption("--share")
    _leave_shares(items, first)
    # A worker that ends with one of these leaves the other one without work.
    items.sort(key=lambda item: _in_repository(item.path) not in FIRST)
    for item in items:
        if _in_repository(item.path) in FULL:
            item.add_marker(pytest.mark.full)
        if not first and item.nodeid in REPEATS:  # which is about the cases that 0 takes
            item.add_marker(pytest.mark.slow)
        limit = limit_of(item.nodeid)
        if limit is not None and limit.runs:
            item.add_marker(pytest.mark.xfail(strict=True, reason=limit.text))
        elif limit is not None:
            item.add_marker(pytest.mark.skip(reason=limit.text))


_NEEDS_TORCH = re.compile(
    r"^(import|from) (torch|onnxwright\.exporter|tests\.exporter)\b", re.MULTILINE
)


class _WithoutTorch(pytest.Module):
    """A test file that is not imported."""

    def collect(self) -> list[pytest.Item]:
        pytest.skip("PyTorch is not installed, and the tests of this file need it")


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Without PyTorch, files that import it are skipped, all with this one reason."""
    if importlib.util.find_spec("torch") is not None:
        return None
    if not _NEEDS_TORCH.search(module_path.read_text(encoding="utf-8")):
        return None
    return _WithoutTorch.from_parent(parent, path=module_path)


def _asks_for_a_test(config: pytest.Config) -> bool:
    return any("::" in argument for argument in config.args)


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, obj: object
) -> list[pytest.Item] | None:
    """Slow tests that are not asked for have thousands of cases: they are not even made."""
    config = collector.config
    if config.option.markexpr not in ("not slow", FAST) or _asks_for_a_test(config):
        return None
    marks = getattr(obj, "pytestmark", []) if inspect.isfunction(obj) else []
    return [] if any(mark.name == "slow" for mark in marks) else None


@pytest.fixture(autouse=True)
def _same_seed() -> None:
    """A test that draws from numpy's global generator draws the same every time."""
    np.random.seed(0)  # noqa: NPY002 (the global generator is what is seeded here)


@pytest.fixture(autouse=True)
def _own_operators() -> Iterator[None]:
    """Operators that a test implements are gone after it."""
    custom = sys.modules.get("onnxwright.eager.custom")
    before = {} if custom is None else {k: dict(v) for k, v in custom._registry.items()}
    yield
    custom = sys.modules.get("onnxwright.eager.custom")
    if custom is not None:
        custom._registry.clear()
        custom._registry.update(before)


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Nothing in the tests may reach another machine."""
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: Any) -> None:
        inside = {
            "127.0.0.1",
            "::1",
            "localhost",
        }  # processes of this machine may talk to each other
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in inside:
            raise AssertionError(f"a test tried to connect to {address!r}")
        connect(self, address)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", refuse)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def forks() -> Iterator[Callable[[Sequence[str]], Forks]]:
    """Processes from which programs are forked, by the modules that they have loaded."""
    made: dict[tuple[str, ...], Forks] = {}

    def get(preload: Sequence[str]) -> Forks:
        key = tuple(preload)
        if key not in made:
            made[key] = Forks(key)
        return made[key]

    yield get
    for server in made.values():
        server.close()


@pytest.fixture
def run_loaded(forks: Callable[[Sequence[str]], Forks]) -> Callable[..., Any]:
    """As `run_python`, in a process that has the libraries loaded: for what a program does."""

    def run(*arguments: str, preload: Sequence[str] = LIGHT, **options: Any) -> Any:
        return forks(preload).run(arguments, **options)

    return run


RunPython = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def run_python() -> RunPython:
    """Runs a fresh Python that can import onnxwright; its result has text stdout and stderr."""

    def run(
        *arguments: str, env: dict[str, str] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **(env or {})}
        options = {"capture_output": True, "text": True, "timeout": 300, "check": False, **options}
        return subprocess.run([sys.executable, *arguments], env=environment, **options)

    return run
