"""What a file belongs to: whole parts of paths, real paths, and metadata of distributions."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import pytest

import onnxwright
from onnxwright.diagnostics.file_owners import Owner, owner_of, path_in_torch


def test_names_of_the_same_start_are_other_packages() -> None:
    torch = pytest.importorskip("torch")
    folder = Path(torch.__file__).parent
    assert owner_of(torch.nn.functional.__file__) is Owner.TORCH
    assert path_in_torch(str(folder / "nn" / "functional.py")) == "nn/functional.py"
    for name in ("torch_layers", "torchvision", "torch2"):
        assert owner_of(str(folder.parent / name / "layers.py")) is Owner.INSTALLED
    own = Path(onnxwright.__file__).parent
    assert owner_of(str(own / "errors.py")) is Owner.ONNXWRIGHT
    assert owner_of(str(own.parent / "onnxwright_layers" / "a.py")) is not Owner.ONNXWRIGHT


def test_a_short_path_of_torch_is_a_file_of_torch(tmp_path, monkeypatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    assert owner_of("torch/nn/functional.py") is Owner.TORCH
    assert owner_of("torch/of_the_user.py") is Owner.USER


def test_links_lead_to_the_same_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    link = tmp_path / "torch"
    link.symlink_to(Path(torch.__file__).parent)
    assert path_in_torch(str(link / "nn" / "functional.py")) == "nn/functional.py"
    path_in_torch.cache_clear()
    monkeypatch.setattr(sys.modules["torch"], "__file__", str(link / "__init__.py"))
    assert path_in_torch(str(Path(link).resolve() / "nn" / "init.py")) == "nn/init.py"
    path_in_torch.cache_clear()


def test_metadata_says_what_is_installed(tmp_path: Path) -> None:
    """Beside `main.py` of the user, as `pip install --target .` makes it."""
    record = tmp_path / "layers-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text(
        "layers/__init__.py,sha256=x,10\nsingle.py,,\nlayers-1.0.dist-info/RECORD,,\n"
    )
    assert owner_of(str(tmp_path / "layers" / "inner" / "a.py")) is Owner.INSTALLED
    assert owner_of(str(tmp_path / "single.py")) is Owner.INSTALLED
    assert owner_of(str(tmp_path / "main.py")) is Owner.USER
    assert owner_of(str(tmp_path / "other" / "a.py")) is Owner.USER
    # A package in development has the metadata of its sources beside it.
    sources = tmp_path / "project"
    (sources / "mine.egg-info").mkdir(parents=True)
    (sources / "mine.egg-info" / "SOURCES.txt").write_text("mine/__init__.py\n")
    assert owner_of(str(sources / "mine" / "__init__.py")) is Owner.USER


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_folders_of_another_python_are_installed(tmp_path: Path, folder: str) -> None:
    assert owner_of(str(tmp_path / folder / "layers" / "a.py")) is Owner.INSTALLED
    assert owner_of(str(tmp_path / f"my_{folder}" / "a.py")) is Owner.USER


def test_python_and_code_without_a_file() -> None:
    assert owner_of(os.__file__) is Owner.PYTHON
    assert owner_of(str(Path(sysconfig.get_paths()["purelib"]) / "layers.py")) is Owner.INSTALLED
    assert owner_of("<string>") is Owner.GENERATED
    assert owner_of("<stdin>") is Owner.USER
