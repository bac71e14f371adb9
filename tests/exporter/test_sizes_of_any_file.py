"""Decisions by sizes count wherever their file lies, unless they make no difference."""

from __future__ import annotations

import linecache
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportError, ExportTypeError, OnnxwrightWarning
from tests.harness.modules import module_with, same_results

_SOURCE = """
import torch
from torch import nn

class Scaled(nn.Module):
    def forward(self, x):
        if x.shape[0] > 5:
            return x / x.shape[0]
        return x

class Windows(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        if n % 4 != 0:
            x = nn.functional.pad(x, (0, 0, 0, 4 - n % 4))
        return x

class Spread(nn.Module):
    def forward(self, x):
        if x.shape[0] == 1:
            return torch.zeros_like(x[0])
        return x.std(0)

class Causal(nn.Module):
    def forward(self, x):
        x = x[None]
        causal = x.shape[1] != 1
        return nn.functional.scaled_dot_product_attention(x, x, x, is_causal=causal)

class Squeezed(nn.Module):
    def forward(self, x):
        return x.squeeze(0) * 2
"""


def _beside_torch(folder: Path, name: str) -> Path:
    return Path(torch.__file__).parent.parent / name / "layers.py"


_FILES = {
    "of the user": lambda folder: folder / "mine" / "layers.py",
    "in site-packages": lambda folder: folder / "site-packages" / "other" / "layers.py",
    "in dist-packages": lambda folder: folder / "dist-packages" / "other" / "layers.py",
    "beside torch": lambda folder: _beside_torch(folder, "layers_of_torch"),
    "named as torch": lambda folder: _beside_torch(folder, "torch_layers"),
    "named as the exporter": lambda folder: (
        Path(ow.__file__).parent.parent / "onnxwright_x" / "a.py"
    ),
}


@pytest.fixture(params=list(_FILES))
def layers(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    path = str(_FILES[request.param](tmp_path))
    linecache.cache[path] = (len(_SOURCE), None, _SOURCE.splitlines(True), path)
    space: dict[str, Any] = {"__name__": "layers"}
    exec(compile(_SOURCE, path, "exec"), space)  # noqa: S102 - as an import of it
    return space


def _exported(module: Any, rows: int, **options: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        program = ow.export(module, (torch.randn(rows, 4),), dynamic_shapes=({0: "n"},), **options)
    return program, [str(w.message) for w in said if isinstance(w.message, OnnxwrightWarning)]


def test_a_bound_is_reported_and_checked(layers: dict[str, Any]) -> None:
    program, said = _exported(layers["Scaled"](), 3, capture="non-strict")
    assert len(said) == 1
    assert "OW833" in said[0]
    assert "n <= 5" in said[0]
    with pytest.raises(ExportTypeError, match="n <= 5"):
        program(torch.ones(8, 4))
    with pytest.raises(ExportError, match="OW834"):
        _exported(layers["Scaled"](), 3, strict=True, capture="non-strict")


def test_both_sides_of_a_bound_are_exported(layers: dict[str, Any]) -> None:
    program, said = _exported(layers["Scaled"](), 3, strict=True)
    assert not said
    same_results(program, layers["Scaled"](), (torch.randn(rows, 4) for rows in (3, 5, 6, 8)))


def test_padding_is_right_at_all_sizes(layers: dict[str, Any]) -> None:
    program, said = _exported(layers["Windows"](), 3, verify=True)
    assert not said
    for rows in (1, 4, 8, 9):
        x = torch.randn(rows, 4)
        assert torch.equal(program(x), layers["Windows"]()(x))


def test_both_sides_of_a_size_of_one_are_exported(layers: dict[str, Any]) -> None:
    program, said = _exported(layers["Spread"](), 5)
    assert not said
    same_results(program, layers["Spread"](), (torch.randn(rows, 4) for rows in (1, 2, 5)))


def test_a_size_of_one_that_does_not_matter_is_right(layers: dict[str, Any]) -> None:
    program, said = _exported(layers["Causal"](), 5)
    assert not said
    x = torch.randn(1, 4)
    torch.testing.assert_close(program(x), layers["Causal"]()(x))


def test_what_squeeze_would_remove_is_reported(layers: dict[str, Any]) -> None:
    program, said = _exported(layers["Squeezed"](), 5)
    assert len(said) == 1
    assert "n != 1" in said[0]
    with pytest.raises(ExportTypeError):
        program(torch.randn(1, 4))


def test_layers_of_torch_are_for_one_row_and_one_step() -> None:
    """What torch's own Python asks about sizes of 1 makes no difference: no word of it."""
    block = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxwrightWarning)
        program = ow.export(
            block, (torch.randn(2, 3, 8),), dynamic_shapes=({0: "b", 1: "t"},), strict=True
        )
    for shape in ((1, 3, 8), (2, 1, 8), (1, 1, 8), (3, 5, 8)):
        x = torch.randn(shape)
        torch.testing.assert_close(program(x), block(x), rtol=1e-4, atol=1e-5)


def test_what_operators_ask_for_the_layout_is_no_decision() -> None:
    """`reshape` asks whether sizes are 1 or 0; the program is right there."""

    @module_with(lambda: {"conv": torch.nn.Conv2d(3, 8, 4, 4)})
    def Grid(self, x: Any) -> Any:
        y = self.conv(x).permute(0, 2, 3, 1)
        b, h, w, c = y.shape
        places = torch.arange(h)[:, None] * torch.arange(w)[None]
        return y.reshape(b, -1, c) * places.flatten()[:, None] / float(max(h, w))

    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxwrightWarning)
        program = ow.export(
            Grid(), (torch.randn(2, 3, 16, 12),), dynamic_shapes=({0: "b", 2: "h", 3: "w"},)
        )
    module = program.module
    for shape in ((1, 3, 4, 4), (2, 3, 4, 12), (1, 3, 32, 8)):
        x = torch.randn(shape)
        torch.testing.assert_close(program(x), module(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("capture", ["auto", "non-strict"])
def test_what_a_function_of_this_package_decides_is_reported(capture: str) -> None:
    """As one that stands for a function of torch: its line is no reason to drop a condition."""
    path = str(Path(ow.__file__).parent / "exporter" / "capture" / "replacements" / "scaled.py")
    space: dict[str, Any] = {}
    text = "def scaled(x):\n    return x * 2 if x.shape[0] > 5 else x * 3\n"
    exec(compile(text, path, "exec"), space)  # noqa: S102 - as above
    program, said = _exported(lambda x: space["scaled"](x), 3, capture=capture)
    assert ["n <= 5" in one for one in said] == [True]
    with pytest.raises(ExportTypeError, match="n <= 5"):
        program(torch.ones(8, 4))
