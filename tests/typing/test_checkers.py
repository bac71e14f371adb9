"""mypy --strict and pyright on annotations and operators: what they accept and what they find."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXAMPLE = ROOT / "examples" / "annotations.py"
ACCEPTED = HERE / "cases" / "accepted.py"
REFUSED = HERE / "cases" / "refused.py"

# Checker -> file -> the lines it complains about, with its words.
Found = dict[Path, dict[int, str]]


def run(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def mypy(tmp_path: Path) -> Found:
    files = [str(f) for f in (EXAMPLE, ACCEPTED, REFUSED)]
    options = ["--strict", "--config-file=", "--no-error-summary", "--show-absolute-path"]
    options += ["--follow-imports=silent"]  # the package itself is checked by CI
    out = run("mypy", *options, f"--cache-dir={tmp_path}", *files)
    found: Found = {}
    for path, line, text in re.findall(r"^(.+?):(\d+): error: (.+)$", out, re.MULTILINE):
        found.setdefault(Path(path), {})[int(line)] = text
    return found


def pyright(_: Path) -> Found:
    files = [str(f) for f in (EXAMPLE, ACCEPTED, REFUSED)]
    out = run("pyright", "--outputjson", "--pythonpath", sys.executable, *files)
    found: Found = {}
    for item in json.loads(out)["generalDiagnostics"]:
        if item["severity"] == "error":
            lines = found.setdefault(Path(item["file"]), {})
            lines[item["range"]["start"]["line"] + 1] = item["message"]
    return found


@pytest.fixture(scope="module", params=[mypy, pyright], ids=lambda f: f.__name__)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """One run of a checker over all the files."""
    check: Callable[[Path], Found] = request.param
    return check(tmp_path_factory.mktemp("checker"))


def test_the_example_is_accepted(found: Found) -> None:
    assert found.get(EXAMPLE, {}) == {}


def test_good_programs_are_accepted(found: Found) -> None:
    assert found.get(ACCEPTED, {}) == {}


def test_bad_lines_are_found(found: Found) -> None:
    lines = REFUSED.read_text(encoding="utf-8").splitlines()
    wanted = [n for n, line in enumerate(lines, 1) if line.endswith("# error")]
    assert sorted(found.get(REFUSED, {})) == wanted


def test_nothing_else_is_said(found: Found) -> None:
    assert set(found) <= {EXAMPLE, REFUSED, ACCEPTED}


def test_no_comment_silences_a_checker() -> None:
    for file in (EXAMPLE, ACCEPTED, REFUSED):
        assert not re.search(r"type: ?ignore|pyright: ?ignore", file.read_text(encoding="utf-8"))
