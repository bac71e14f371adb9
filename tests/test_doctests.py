"""Every example in a docstring does what it shows."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from tools.architecture import module_files

ROOT = Path(__file__).resolve().parent.parent
FILES = {
    **module_files(ROOT),
    **{
        f"tests.harness.{path.stem}": path for path in sorted((ROOT / "tests/harness").glob("*.py"))
    },
}
MODULES = [
    name
    for name, path in FILES.items()
    if ">>>" in path.read_text(encoding="utf-8") and not name.endswith("__main__")
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str, monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.chdir(tmp_path)  # an example may save a model
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("torch", "expecttest"):
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in doctest.DocTestFinder().find(module):
        # torch._dynamo removes its own names from the namespace when a compiled function ends.
        runner.run(test, clear_globs=False)
    assert runner.summarize(verbose=False).failed == 0, capsys.readouterr().out


def test_examples_are_found() -> None:
    """The text search above does not miss examples that doctest would run."""
    assert "onnxwright.errors" in MODULES
