"""Models in which an optimizer easily goes wrong: results, interface and weights stay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright.testing.proving import run_plainly

HEAD = '<ir_version: 10, opset_import: ["" : 20, "mine" : 1, "local" : 1]>'
# == name | what must stay: operators, or weights with a `#` in front.  Results are compared bit by
# bit unless the name ends in `~`.  `N` and `M` are sizes that are tried as 0, 1 and 3.
FILE = Path(__file__).with_name("traps.txt")


def load() -> dict[str, tuple[str, list[str]]]:
    """The models of the file by name, each with what must stay."""
    models = {}
    for block in FILE.read_text(encoding="utf-8").split("== ")[1:]:
        head, text = block.split("\n", 1)
        name, _, stays = head.partition(" | ")
        models[name] = (text, stays.split())
    return models


TRAPS = load()
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, np.nan, np.inf, -np.inf, 6.0, -7.25, 1e-3, 0.5]


def parsed(text: str) -> onnx.ModelProto:
    head = HEAD if "mine." in text else HEAD.replace(', "mine" : 1', "")
    return onnx.parser.parse_model(f"{head}\n{text}")


def feeds_of(model: onnx.ModelProto, size: int) -> dict[str, np.ndarray[Any, Any]]:
    """Inputs with special values; every named size is `size`."""
    feeds = {}
    rng = np.random.default_rng(size)
    held = {i.name for i in model.graph.initializer}
    for value in model.graph.input:
        if value.name in held:
            continue
        tensor = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else size for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        count = int(np.prod(shape, dtype=int))
        if dtype.kind == "f":
            start = int(rng.integers(len(SPECIAL)))
            flat = np.resize(np.roll(SPECIAL, start), count)
        elif dtype.kind == "b":
            flat = rng.integers(2, size=count)
        else:
            low = 0 if dtype.kind == "u" else -100
            flat = rng.integers(low, 100, size=count)
        feeds[value.name] = flat.reshape(shape).astype(dtype)
    return feeds


def assert_same(a: Any, b: Any, exact: bool) -> None:
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    if a.dtype.kind != "f":
        assert np.array_equal(a, b)
    elif exact:
        assert np.array_equal(a, b, equal_nan=True)
        numbers = ~np.isnan(a)
        assert np.array_equal(np.signbit(a)[numbers], np.signbit(b)[numbers])
    else:
        assert np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)


# What the rules for ONNX Runtime alone look for.
OF_RUNTIME = re.compile("Conv|Gemm|MatMul|Gelu|Erf|Tanh|LayerNormalization|Softmax|Sigmoid")
TRIED = [
    *((name, level, "any") for name in TRAPS for level in ("exact", "rounding")),
    *((name, "rounding", "onnxruntime") for name in TRAPS if OF_RUNTIME.search(TRAPS[name][0])),
]


@pytest.mark.parametrize(("name", "level", "target"), TRIED)
def test_trap(name: str, level: str, target: str) -> None:
    text, stays = TRAPS[name]
    model = parsed(text)
    before = model.SerializeToString()
    optimized = ow.optimize(model, level=level, target=target)
    assert model.SerializeToString() == before
    assert [v.name for v in optimized.graph.input] == [v.name for v in model.graph.input]
    assert list(optimized.graph.output) == list(model.graph.output)
    assert len(optimized.graph.node) <= max(len(model.graph.node), 1)
    assert optimized.ByteSize() <= model.ByteSize() + 60
    operators = [n.op_type for n in optimized.graph.node]
    for one in stays:
        if one.startswith("#"):
            assert one[1:] in {i.name for i in optimized.graph.initializer}
        else:
            assert operators.count(one) >= stays.count(one), operators
    again = ow.optimize(optimized, level=level, target=target)
    assert [n.op_type for n in again.graph.node] == operators
    if "mine." in text:
        return
    ran = 0
    for size in (0, 1, 3):
        feeds = feeds_of(model, size)
        expected = run_plainly(model, feeds)
        if expected is None:
            continue
        ran += 1
        got = run_plainly(optimized, feeds, onnx.printer.to_text(optimized))
        assert got is not None
        if "random" in name:
            continue
        for a, b in zip(expected, got, strict=True):
            assert_same(a, b, not name.endswith("~"))
    assert ran, "the runtime refuses the model itself"


def test_there_are_enough() -> None:
    assert len(TRAPS) >= 200
