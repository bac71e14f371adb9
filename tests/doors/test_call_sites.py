"""Call sites as they are in the wild run after `onnxwright migrate`, with nothing else changed.

A case is a file in `sites/`.  Its comments say what is expected: `# warns: OW890 OW891` the codes
of all warnings, `# raises: TEXT` a part of the message, `# notes: TEXT` a note of `migrate`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from onnxwright.cli.migrate.migration import migrate
from tests.harness.loading import load_file

SITES = Path(__file__).parent / "sites"


def expected(text: str, what: str) -> list[str]:
    """The lines of a site that say what is expected."""
    return re.findall(rf"^# {what}: (.*)$", text, re.MULTILINE)


def names_of(path: Path) -> dict[str, Any]:
    """What the sites of a folder have around them: the names of a module."""
    return dict(vars(load_file(path)))


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run(path: Path, folder: Path, around: dict[str, Any]) -> None:
    """Migrate a site, run it, and compare what it says with what it expects."""
    text = path.read_text(encoding="utf-8")
    migrated = migrate(text)
    for note in expected(text, "notes"):
        assert note in " ".join(n.text for n in migrated.notes)
    file = folder / path.name
    file.write_text(migrated.text, encoding="utf-8")
    raised = ""
    with warnings.catch_warnings(record=True) as caught, _inside(folder):
        warnings.simplefilter("always")
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                exec(compile(migrated.text, str(file), "exec"), {**around, "__name__": "site"})
            except Exception as error:
                raised = str(error)
                if not expected(text, "raises"):
                    raise
    assert all(part in raised for part in expected(text, "raises"))
    assert bool(raised) == bool(expected(text, "raises"))
    codes = [c for w in caught for c in re.findall(r"^\w+\[(OW\d{3})\]", str(w.message))]
    assert sorted(codes) == sorted(" ".join(expected(text, "warns")).split())


@pytest.fixture
def torch_names(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from onnxwright.exporter.torch_names import symbolics

    def theirs(*args: Any, **kwargs: Any) -> NoReturn:
        raise AssertionError("PyTorch's exporter was called")

    monkeypatch.setattr(torch.onnx, "export", theirs)
    monkeypatch.setattr(torch.onnx.utils, "export", theirs)
    monkeypatch.setattr(symbolics, "_REGISTERED", {})
    return names_of(SITES / "torch_onnx" / "nets.py")


TORCH = sorted(p.stem for p in (SITES / "torch_onnx").glob("*.py") if p.stem != "nets")


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TORCH)
def test_a_call_site_of_torch_onnx(name: str, tmp_path: Path, torch_names: dict[str, Any]) -> None:
    run(SITES / "torch_onnx" / f"{name}.py", tmp_path, torch_names)


ONNXSCRIPT = sorted(p.stem for p in (SITES / "onnxscript").glob("*.py") if p.stem != "around")


@pytest.mark.parametrize("name", ONNXSCRIPT)
def test_a_program_of_onnxscript(name: str, tmp_path, monkeypatch) -> None:
    """The programs check themselves: what they compute eagerly and in ONNX Runtime."""
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    around = names_of(SITES / "onnxscript" / "around.py")
    run(SITES / "onnxscript" / f"{name}.py", tmp_path, around)
