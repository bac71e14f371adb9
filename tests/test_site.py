"""The documentation builds as a site without a warning, and its reference has every public name."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

import onnxwright
from tests.harness.forked import TORCH
from tests.harness.tables import each
from tools import site_hooks

ROOT = Path(__file__).resolve().parent.parent
DOCS = ("mkdocs", "material", "mkdocstrings")


def test_every_public_function_is_in_the_reference() -> None:
    listed = [name for _, names in site_hooks.REFERENCE.values() for name in names]
    assert len(listed) == len(set(listed))
    # Another name of the same, and a class that is only named in annotations.
    aliases = {"OnnxFunction", "TracedOnnxFunction"}
    assert set(onnxwright._HOMES) - aliases <= set(listed)


@each(
    ("link", "page", "made"),
    [
        ("../CHANGELOG.md", "index.md", "changelog.md"),
        ("../../examples/layers.py", "guide/types.md", "../examples/layers.md"),
        ("../errors", "guide/errors.md", "../errors/index.md"),
        ("types.md#unions", "guide/eager.md", "types.md#unions"),
        ("https://onnx.ai", "index.md", "https://onnx.ai"),
    ],
)
def test_links_stay_inside_the_site(link: str, page: str, made: str) -> None:
    assert site_hooks.relink(f"[x]({link})", page) == f"[x]({made})"


def test_the_site_builds_without_a_warning(run_loaded: Any, tmp_path: Path) -> None:
    lacking = [name for name in DOCS if importlib.util.find_spec(name) is None]
    if lacking:
        pytest.skip(f"{', '.join(lacking)} is not installed: it is of the extra `docs`")
    pytest.importorskip("torch", reason="the reference names the exporter")
    command = ["-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = run_loaded(*command, preload=TORCH, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "reference" / "models" / "index.html").read_text(encoding="utf-8")
    assert "A smaller and faster model that computes the same." in page
    assert (tmp_path / "examples" / "first_model" / "index.html").exists()
    everything = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "fonts.googleapis" not in everything
