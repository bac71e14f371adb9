"""Twelve typed programs under mypy and pyright, beside a plain and an editable installation."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted((ROOT / "tests" / "typing" / "programs").glob("*.py"))
# The package is found where it is installed, and not by the folder of the tests.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MYPYPATH")}


def marked() -> dict[str, list[int]]:
    """The lines of each program that are errors."""
    texts = {path.name: path.read_text(encoding="utf-8").splitlines() for path in PROGRAMS}
    return {
        name: [n for n, line in enumerate(lines, 1) if line.endswith("# error")]
        for name, lines in texts.items()
    }


def run(
    *command: str,
    cwd: Path,
    statuses: tuple[int, ...] = (0,),
    more: Mapping[str, str] | None = None,
) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={**ENVIRONMENT, **(more or {})}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode in statuses, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["wheel", "editable"])
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the package alone; what it depends on is that of the running one."""
    lacking = [
        name for name in ("hatchling", "editables") if importlib.util.find_spec(name) is None
    ]
    if lacking:
        pytest.skip(f"{' and '.join(lacking)}, which build the package, are not installed")
    folder = tmp_path_factory.mktemp(request.param)
    venv.create(folder, with_pip=False)
    made = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    own = run(str(made), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    # A path in a `.pth` file is searched, but the `.pth` files in it are not read: an editable
    # installation there is not seen.
    (Path(own.strip()) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--ignore-installed"]
    editable = ["-e"] if request.param == "editable" else []
    pip = [sys.executable, "-m", "pip", "--python", str(made), "install"]
    run(*pip, *options, *editable, str(ROOT), cwd=folder)
    found = run(str(made), "-c", "import onnxwright; print(onnxwright.__file__)", cwd=folder)
    is_here = Path(found.strip()).resolve().is_relative_to(ROOT)
    assert is_here == (request.param == "editable"), found
    return made


@pytest.mark.slow
def test_mypy(python: Path, tmp_path: Path) -> None:
    options = ["--strict", "--config-file=", "--no-error-summary", "--follow-imports=silent"]
    out = run(
        sys.executable, "-m", "mypy", *options, f"--python-executable={python}",
        f"--cache-dir={tmp_path}", *map(str, PROGRAMS), cwd=tmp_path, statuses=(1,),
    )  # fmt: skip
    found: dict[str, set[int]] = {path.name: set() for path in PROGRAMS}
    for path, line in re.findall(r"^(.+?):(\d+): error: ", out, re.MULTILINE):
        found[Path(path).name].add(int(line))
    assert {name: sorted(lines) for name, lines in found.items()} == marked(), out


@pytest.mark.slow
def test_pyright(python: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", str(python)]
    out = run(*command, *map(str, PROGRAMS), cwd=tmp_path, statuses=(1,))
    found: dict[str, set[int]] = {path.name: set() for path in PROGRAMS}
    for item in json.loads(out)["generalDiagnostics"]:
        if item["severity"] == "error":
            found[Path(item["file"]).name].add(item["range"]["start"]["line"] + 1)
    assert {name: sorted(lines) for name, lines in found.items()} == marked(), out


@pytest.mark.slow
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_programs_run(path: Path, tmp_path: Path) -> None:
    if path.stem == "exporting":
        pytest.importorskip("torch", reason="torch is not installed")
    more = {"PYTHONPATH": str(ROOT)}
    assert run(sys.executable, "-W", "ignore", str(path), cwd=tmp_path, more=more)


def test_there_are_twelve_programs_with_an_error_each() -> None:
    assert len(PROGRAMS) == 12
    assert all(marked().values())
