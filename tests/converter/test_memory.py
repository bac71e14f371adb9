"""A script that is loaded anew leaves nothing of the old one behind."""

from __future__ import annotations

import gc
import sys
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.harness.loading import load_file

SOURCE = """
import onnxwright as ow
from onnxwright import FLOAT, opset18 as op

@ow.script()
def helper(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Relu(x) + 1.0

@ow.script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    y = helper(x)
    if op.ReduceSum(y) > 0:
        y = -y
    return y
"""


def load(path: Path) -> Any:
    """The script of a file, as a new module."""
    return load_file(path).f


def test_scripts_loaded_anew_are_freed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Python takes byte code of a file for current that is as long and of the same second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    alive, sizes = [], []
    for n in range(36):
        path = tmp_path / f"m{n if n % 4 else 0}.py"  # now and then the same file, else a new one
        # Another number each time: equal code objects are one key of a dict.
        path.write_text(SOURCE.replace("1.0", f"{n}.5"), encoding="utf-8")
        script = load(path)
        script.to_model_proto()
        script(np.ones(3, np.float32))
        alive += [weakref.ref(script), weakref.ref(script.function)]
        helper = script.function.__globals__["helper"].function
        alive += [weakref.ref(helper.__code__), weakref.ref(script.function.__code__)]
        del helper
        del script
        if n in (23, 35):  # more files than trees are kept
            gc.collect()
            kinds = Counter(map(type, gc.get_objects()))
            sizes.append(sum(n for t, n in kinds.items() if "onnxwright" in str(t.__module__)))
    assert sum(ref() is not None for ref in alive) == 0
    assert sizes[1] - sizes[0] < 60, "objects of ours that each load leaves"
