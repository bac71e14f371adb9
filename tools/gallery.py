"""Makes the pictures of `docs/gallery.md`: what `show` draws, and the page as a browser shows it.

python -m tools.gallery            # needs the extra `viz`, torch and a Chromium
"""

from __future__ import annotations

import runpy
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import onnxwright as ow
from tests.harness.browser import Page, browser

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"


def transformer(layers: int) -> tuple[Any, dict[str, Any]]:
    """A transformer as a model, and inputs for it."""
    import torch

    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
    model = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = ow.export(model, (torch.randn(1, 5, 32),), input_names=["src"])
    rng = np.random.default_rng(0)
    return program.model_proto, {"src": rng.standard_normal((1, 5, 32)).astype(np.float32)}


def pages(page: Page, folder: Path, entropy: Any) -> Iterator[str]:
    """Screenshots of the page; the name of each that was written."""
    model, inputs = transformer(60)
    page.open(_saved(folder, model, inputs), 1200, 700)
    page.screenshot(PICTURES / "page-folded.png")
    yield "page-folded.png"
    page.type("#ow-search", "attention layers.2.")
    page.press("Enter")
    page.screenshot(PICTURES / "page-node.png")
    yield "page-node.png"
    probabilities = np.array([[0.25, 0.25, 0.5, 0.0]], np.float32)
    page.open(_saved(folder, entropy, [probabilities]), 1200, 560)
    page.type("#ow-search", "reducesum")
    page.press("Enter")
    page.screenshot(PICTURES / "page-values.png")
    yield "page-values.png"


def _saved(folder: Path, model: Any, inputs: Any) -> Path:
    file = folder / "page.html"
    ow.show(model, values=ow.debug(model, inputs)).save(file)
    return file


def main() -> int:
    """Write all pictures."""
    PICTURES.mkdir(exist_ok=True)
    functions = runpy.run_path(str(ROOT / "examples" / "pictures.py"))
    for name in ("block", "newton", "cumulative"):
        ow.show(functions[name]).save(PICTURES / f"{name}.svg")
        print(f"{name}.svg")
    with tempfile.TemporaryDirectory() as folder, browser() as page:
        for name in pages(page, Path(folder), functions["entropy"]):
            print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
