"""The same program gives the same bytes in every process, under every hash seed."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

SEEDS = ("0", "1", "4242")

CARRIED = 40


def many_carried() -> str:
    """A loop that carries forty variables, some through an `if`."""
    names = [f"v{n}" for n in range(CARRIED)]
    lines = ["@script()", 'def f(x: FLOAT["N"], n: INT64) -> FLOAT["N"]:']
    lines += [f"    {name} = x + {n}.0" for n, name in enumerate(names)]
    lines += ["    for i in range(n):"]
    lines += [
        f"        {name} = {name} + {names[(n * 7 + 1) % CARRIED]}" for n, name in enumerate(names)
    ]
    lines += ["        if op.ReduceSum(v3) > 10.0:"]
    lines += [f"            {name} = {name} * 0.5" for name in names[::3]]
    lines += ["    return " + " + ".join(names)]
    return "\n".join(lines)


PROGRAMS = {
    "straight line": """
        @script()
        def f(x: FLOAT["N", 3], axis: int = 1) -> FLOAT["N", 3]:
            y = op.Softmax(x, axis=axis) * 2.0 + 1.0
            return y[:, ::-1] - op.ReduceMean(x, keepdims=1)
    """,
    "forty carried variables": many_carried(),
    "return in an if, break and else": """
        @script()
        def f(x: FLOAT["N"], n: INT64) -> FLOAT["N"]:
            a = x
            b = x * 2.0
            for i in range(n):
                if op.ReduceSum(a) > 100.0:
                    return b
                if op.ReduceSum(b) < -100.0:
                    break
                a, b = b, a + b
            else:
                b = b - 1.0
            return a + b
    """,
    "functions and two domains": """
        mine = ow.Opset("my.domain", 1)
        yours = ow.Opset("your.domain", 3)

        @script(mine)
        def double(x, factor: float = 2.0):
            return x * factor

        @script(yours)
        def triple(x):
            return double(x, factor=3.0)

        @script()
        def f(x: FLOAT["N"]) -> FLOAT["N"]:
            return double(x) + triple(x) + double(x, factor=5.0)
    """,
    "many attributes": """
        @script()
        def f(x: FLOAT[1, 3, 8, 8], w: FLOAT[4, 3, 3, 3]) -> FLOAT["B", "C", "H", "W"]:
            return op.Conv(
                x, w, strides=[1, 1], pads=[1, 1, 1, 1], kernel_shape=[3, 3],
                group=1, dilations=[1, 1],
            )
    """,
}

HEAD = """
import hashlib
import onnxwright as ow
from onnxwright import FLOAT, INT64, script, opset18 as op
"""

TAIL = """
for again in range(2):
    model = f.to_model_proto().SerializeToString()
    function = f.to_function_proto().SerializeToString()
    print(hashlib.sha256(model).hexdigest(), hashlib.sha256(function).hexdigest())
"""

# Runs each program named on the command line; the lines that a program prints begin with its name.
RUN_ALL = """
import builtins, functools, runpy, sys
from pathlib import Path
for path in map(Path, sys.argv[1:]):
    printed = functools.partial(builtins.print, path.stem)
    runpy.run_path(str(path), {"print": printed})
"""


def write(path: Path, what: str) -> Path:
    path.write_text(HEAD + textwrap.dedent(PROGRAMS[what]) + TAIL, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def digests(run_python: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The lines of each program under every seed; one process for each seed runs all programs."""
    folder = tmp_path_factory.mktemp("programs")
    runner = folder / "run_all.py"
    runner.write_text(RUN_ALL, encoding="utf-8")
    paths = [str(write(folder / f"p{n}.py", what)) for n, what in enumerate(PROGRAMS)]
    lines: dict[str, list[str]] = {what: [] for what in PROGRAMS}
    for seed in SEEDS:
        done = run_python(str(runner), *paths, env={"PYTHONHASHSEED": seed})
        assert done.returncode == 0, done.stderr
        for line in done.stdout.splitlines():
            name, digest = line.split(" ", 1)
            lines[list(PROGRAMS)[int(name[1:])]].append(digest)
    return lines


@pytest.mark.parametrize("what", PROGRAMS)
def test_same_bytes_under_every_hash_seed(digests: dict[str, list[str]], what: str) -> None:
    assert len(digests[what]) == 2 * len(SEEDS)
    assert len(set(digests[what])) == 1, digests[what]


def test_bytes_do_not_depend_on_the_folder(run_loaded: Any, tmp_path: Path) -> None:
    """Two clones of a project in two folders give the same model."""
    outputs = set()
    for folder in ("here", "there/and/further"):
        path = tmp_path / folder / "program.py"
        path.parent.mkdir(parents=True)
        write(path, "functions and two domains")
        done = run_loaded("program.py", cwd=path.parent)
        assert done.returncode == 0, done.stderr
        outputs.update(done.stdout.splitlines())
    assert len(outputs) == 1, outputs
