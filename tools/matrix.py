"""Runs tests in clean environments: the oldest allowed dependencies, the newest, other Pythons.

    python -m tools.matrix                                   # floor and newest, this Python
    python -m tools.matrix --only floor --python python3.10 -- tests/eager tests/builder
    python -m tools.matrix --only floor --set onnx==1.19     # would a lower floor do?

The floors are those of `pyproject.toml`.  An environment is made once in `--folder` and used again.
Without tests a share is run that needs no PyTorch.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARE = ("tests", *(f"--ignore=tests/{n}" for n in ("exporter", "atenlib", "testing", "typing")))
"""Tests that need nothing but the run-time dependencies."""

_TOOLS = ("pytest>=8.2", "pytest-xdist>=3.6", "hypothesis>=6.100")


def floors(text: str) -> list[str]:
    r"""The lowest allowed version of each run-time dependency.

    Args:
        text: the contents of `pyproject.toml`.

    Returns:
        Requirements such as `onnx==1.19`.

    Example:
        >>> floors('dependencies = [\n  "onnx>=1.19",\n  "numpy>=1.26",\n]\n')
        ['onnx==1.19', 'numpy==1.26']
    """
    found = re.search(r"^dependencies = \[(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    entry = re.compile(r'"([\w-]+)>=([\d.]+)(?:; (.*))?"')
    names = entry.findall(found[1] if found is not None else "")
    return [f"{name}=={version}" + (f"; {mark}" if mark else "") for name, version, mark in names]


def requirements(kind: str, changed: Sequence[str]) -> list[str]:
    """What is installed in an environment.

    Args:
        kind: "floor" or "newest".
        changed: requirements in place of those of the same package.

    Returns:
        The requirements.
    """
    made = floors((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if kind == "newest":
        made = list(dict.fromkeys(entry.partition("==")[0] for entry in made))
    own = {re.split(r"[=<>~!]", entry)[0]: entry for entry in changed}
    chosen = [own.get(entry.partition("==")[0], entry) for entry in made]
    return list(dict.fromkeys(chosen))


def environment(folder: Path, python: str, wanted: Sequence[str]) -> Path:
    """The Python of an environment with these packages; made where it is not there yet.

    Args:
        folder: where environments are kept.
        python: the interpreter it is made from.
        wanted: the requirements.

    Returns:
        Its interpreter.
    """
    name = re.sub(r"[^\w.=-]+", "_", "-".join([Path(python).name, *wanted]))[:150]
    home = folder / name
    found = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (home / "complete").exists():
        subprocess.run([python, "-m", "venv", "--clear", str(home)], check=True)
        install = [str(found), "-m", "pip", "install", "-q", *wanted, *_TOOLS]
        subprocess.run(install, check=True)
        (home / "complete").touch()
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests in each environment and print one line for each.

    Args:
        arguments: the command line.

    Returns:
        The status: 1 where tests failed.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.matrix")
    parser.add_argument("--only", choices=("floor", "newest"))
    parser.add_argument("--python", action="append", help="interpreters; this one by default")
    parser.add_argument("--set", action="append", default=[], help="a requirement to use instead")
    parser.add_argument("--folder", type=Path, default=ROOT / ".matrix")
    parser.add_argument("tests", nargs="*", default=list(SHARE))
    given = parser.parse_args(arguments)
    bad = False
    for python in given.python or [sys.executable]:
        for kind in [given.only] if given.only else ["floor", "newest"]:
            wanted = requirements(kind, given.set)
            print(f"== {python}, {kind}: {' '.join(wanted)}", flush=True)
            try:
                found = environment(given.folder, python, wanted)
            except subprocess.CalledProcessError:
                print(f"== {python}, {kind}: cannot be installed", flush=True)
                bad = True
                continue
            command = [str(found), "-m", "pytest", "-q", "-p", "no:cacheprovider", *given.tests]
            done = subprocess.run(
                command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
            )
            bad |= done.returncode != 0
            words = "passed" if done.returncode == 0 else f"status {done.returncode}"
            print(f"== {python}, {kind}: {words}", flush=True)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
