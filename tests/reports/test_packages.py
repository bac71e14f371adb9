"""Public reports about packages that PyTorch programs come from: the folder must not matter."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportError, ExportTypeError, OnnxwrightWarning

_SOURCE = '''
"""Layers of a package."""

import torch


class Scaled(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] > 5:
            return x / x.shape[0]
        return x
'''
_SHAPES = ({0: "b", 1: "t"},)


# repository and number -> the folders above the package, its name.
_PLACES = {
    "pytorch/pytorch#126856 (a system's Python)": ("lib/dist-packages", "system_layers"),
    "pytorch/pytorch (an environment)": ("lib/site-packages", "environment_layers"),
    "pytorch/vision#9462 (a name that begins as torch)": ("lib/site-packages", "torch_of_layers"),
    "astral-sh/uv (link-mode=symlink)": ("", "linked_layers"),
}


@pytest.fixture(params=list(_PLACES))
def layers(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Any) -> Any:
    """The package, imported from its folder."""
    folder, name = _PLACES[request.param]
    package = tmp_path / (folder or "cache") / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(_SOURCE, encoding="utf-8")
    path = package.parent
    if not folder:
        path = tmp_path / "lib" / "site-packages"
        path.mkdir(parents=True)
        (path / name).symlink_to(package)
    monkeypatch.syspath_prepend(str(path))
    importlib.invalidate_caches()
    yield importlib.import_module(name)
    sys.modules.pop(name)


def _exported(module: Any, **options: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        program = ow.export(module, (torch.randn(2, 5, 4),), dynamic_shapes=_SHAPES, **options)
    return program, [str(w.message) for w in said if isinstance(w.message, OnnxwrightWarning)]


def test_guards_of_a_package(layers: Any) -> None:
    """What is captured without the source has one side, and says so."""
    program, said = _exported(layers.Scaled(), capture="non-strict")
    assert [text for text in said if "OW833" in text and "b <= 5" in text] == said != []
    with pytest.raises(ExportTypeError, match="b <= 5"):
        program(torch.randn(8, 5, 4))
    with pytest.raises(ExportError, match="OW834"):
        _exported(layers.Scaled(), capture="non-strict", strict=True)


_LINKED = """
import warnings

import torch

import onnxwright as ow
from torch_beside import Scaled

block = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
with warnings.catch_warnings():
    warnings.simplefilter("error", ow.OnnxwrightWarning)
    program = ow.export(
        lambda x: block(x, x, x)[0], (torch.randn(2, 3, 8),),
        dynamic_shapes=({0: "b", 1: "t"},), strict=True,
    )
for shape in ((1, 3, 8), (2, 1, 8)):
    x = torch.randn(shape)
    torch.testing.assert_close(program(x), block(x, x, x)[0], rtol=1e-4, atol=1e-5)
try:
    ow.export(
        Scaled(), (torch.ones(3, 2),), dynamic_shapes=({0: "n"},), strict=True, capture="non-strict"
    )
except ow.ExportError as error:
    print(torch.__file__, error.diagnostic.code)
"""


def test_torch_reached_through_a_symbolic_link(tmp_path: Path) -> None:
    """With a package beside it whose name begins as torch's."""
    (tmp_path / "torch").symlink_to(Path(torch.__file__).parent)
    (tmp_path / "torch_beside").mkdir()
    (tmp_path / "torch_beside" / "__init__.py").write_text(_SOURCE, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(Path(ow.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", _LINKED], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.stdout.split() == [str(tmp_path / "torch" / "__init__.py"), "OW834"], done.stderr
