"""The command driven as a person would: in a pipe, and in a terminal."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.harness.forked import LIGHT, Forks, can_fork

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = '''\
"""Two scripts."""

from onnxwright import FLOAT, script
from onnxwright import opset18 as op

print("this file prints when it is executed")


@script()
def scale(x, factor: float = 2.0):
    return x * factor


@script()
def model(x: FLOAT["N", 3]) -> FLOAT["N", 3]:
    """Scaled and clipped."""
    return op.Relu(scale(x, factor=3.0) - 1.0)
'''


def environment(**more: str) -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "TERM": "xterm", **more}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a space in its name, and a file with two scripts."""
    path = tmp_path / "my models"
    path.mkdir()
    (path / "two scripts.py").write_text(PROGRAM, encoding="utf-8")
    return path


Command = Callable[..., "subprocess.CompletedProcess[Any]"]


@pytest.fixture
def command(folder: Path, forks: Callable[[Sequence[str]], Forks]) -> Command:
    """Runs `onnxwright` in the folder, not in a terminal."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[Any]:
        env = environment(**options.pop("env", {}))
        module = ["-m", "onnxwright", *arguments]
        if can_fork(env, module) and options.keys() <= {"input", "text", "cwd"}:
            return forks(LIGHT).run(module, env=env, **{"cwd": folder, **options})
        options = {"capture_output": True, "timeout": 120, "cwd": folder, "text": True, **options}
        return subprocess.run(
            [sys.executable, "-m", "onnxwright", *arguments], env=env, check=False, **options
        )

    return run


@pytest.fixture
def terminal(
    folder: Path, forks: Callable[[Sequence[str]], Forks]
) -> Callable[..., tuple[int, str]]:
    """Runs `onnxwright` in a pseudo-terminal; gives the exit status and everything it showed."""
    pty = pytest.importorskip("pty")

    def run(*arguments: str, **env: str) -> tuple[int, str]:
        mine, theirs = pty.openpty()
        seen: list[bytes] = []

        def read() -> None:
            with contextlib.suppress(OSError):  # the other side has closed
                while part := os.read(mine, 65536):
                    seen.append(part)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            done = forks(LIGHT).run(
                ["-m", "onnxwright", *arguments], cwd=folder, env=environment(**env),
                terminal=os.ttyname(theirs), timeout=120,
            )  # fmt: skip
        finally:
            os.close(theirs)
            reader.join()
            os.close(mine)
        return done.returncode, b"".join(seen).decode("utf-8")

    return run
