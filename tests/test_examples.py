"""Every example runs as a script, says something, and its own checks hold."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.harness.forked import LIGHT, TORCH

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(run_loaded: Any, tmp_path: Path, path: Path) -> None:
    copy = shutil.copy(path, tmp_path)
    loaded = TORCH if find_spec("torch") and "torch" in path.read_text("utf-8") else LIGHT
    done = run_loaded("-W", "error", str(copy), preload=loaded, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip(), "an example prints what it found"
    assert done.stderr == ""


def test_there_are_examples() -> None:
    assert "first_model.py" in {path.name for path in EXAMPLES}
