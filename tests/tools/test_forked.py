"""Programs that are forked from a process in which the libraries are loaded."""

from __future__ import annotations

import os

import pytest

from tests.harness.forked import Forks


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"])
def test_threads_that_the_environment_asks_for_are_those_of_the_program(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries that are loaded before the fork start none: a fork would be without them."""
    monkeypatch.setenv(name, "3")
    forks = Forks(["numpy"])
    try:
        done = forks.run(["-c", f"import os; print(os.environ[{name!r}])"])
    finally:
        forks.close()
    assert (done.returncode, done.stdout.strip()) == (0, "3")
