"""Every example runs as a script, says something, and its own checks hold."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(run_python: Any, tmp_path: Path, path: Path) -> None:
    copy = shutil.copy(path, tmp_path)
    done = run_python("-W", "error", str(copy), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip(), "an example prints what it found"
    assert done.stderr == ""


def test_there_are_examples() -> None:
    assert "first_model.py" in {path.name for path in EXAMPLES}
