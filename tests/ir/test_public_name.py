"""`from onnxwright import ir` is `onnx_ir`, whatever was imported before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx_ir
import pytest

import onnxwright
from onnxwright.ir import loading

BEFORE = {
    "nothing": "",
    "the internal package": "import onnxwright.ir",
    "an internal module": "import onnxwright.ir.loading",
    "names of an internal module": "from onnxwright.ir.loading import open_model",
    "a function that uses it": "from onnxwright import optimize, GraphBuilder, script",
    "onnx_ir": "import onnx_ir",
}
CHECK = """
from onnxwright import ir
import onnx_ir, onnxwright
assert ir is onnx_ir, ir
assert onnxwright.ir is onnx_ir
from onnxwright.ir import Model, adapters
import onnxwright.ir.loading
from onnxwright.ir.loading import open_model
from onnxwright import ir as again
assert Model is onnx_ir.Model
assert again is onnx_ir
assert open_model.__module__ == "onnxwright.ir.loading"
assert "ir" in dir(onnxwright)
"""


@pytest.mark.parametrize("before", BEFORE)
def test_in_a_process_of_its_own(before: str, run_loaded: Any, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(BEFORE[before] + CHECK, encoding="utf-8")
    done = run_loaded(str(path), preload=("numpy", "numpy.random", "onnx"))
    assert done.returncode == 0, done.stderr


def test_after_everything() -> None:
    """Here: it takes seconds to load what all the names need."""
    exec("from onnxwright import *\n" + CHECK, {})
    assert onnxwright.ir is onnx_ir
    assert loading.__name__ == "onnxwright.ir.loading"


def test_no_module_of_the_internal_package_hides_a_name_of_onnx_ir() -> None:
    folder = Path(loading.__file__).parent
    modules = {path.stem for path in folder.iterdir() if not path.stem.startswith("_")}
    assert not modules & set(dir(onnx_ir))
