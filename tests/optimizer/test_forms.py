"""Models as exporters write them: each kind of rule finds the forms that occur in real files."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import onnxwright as ow
from onnxwright.testing.proving import run_plainly

# == name @opset | the operators afterwards.  Values that no node makes and that are declared beside
# the nodes (`<float[4] wb>`) are weights of random numbers; those of scales and variances positive.
FILE = Path(__file__).with_name("forms.txt")
POSITIVE = re.compile(r"v\d*$|wd$|s\d*$")


def load() -> dict[str, tuple[int, str, list[str]]]:
    """The models of the file by name, each with its opset and the operators it should have."""
    models = {}
    for block in FILE.read_text(encoding="utf-8").split("== ")[1:]:
        head, text = block.split("\n", 1)
        name, _, expected = head.partition(" | ")
        name, _, opset = name.rpartition(" @")
        assert name not in models, name
        models[name] = (int(opset), text, expected.split())
    return models


FORMS = load()


def parsed(text: str, opset: int) -> onnx.ModelProto:
    """A model with random weights."""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}')
    rng = np.random.default_rng(0)
    computed = {output for node in model.graph.node for output in node.output}
    for value in list(model.graph.value_info):
        if value.name in computed:
            continue
        array = drawn(value, 1, rng)
        if POSITIVE.match(value.name):
            array = np.abs(array) + array.dtype.type(0.5)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, value.name))
        model.graph.value_info.remove(value)
    return model


def drawn(value: onnx.ValueInfoProto, size: int, rng: np.random.Generator) -> Any:
    """A random array for a value; every named dimension is `size`."""
    tensor = value.type.tensor_type
    shape = [d.dim_value if d.HasField("dim_value") else size for d in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if dtype.kind == "f":
        return np.asarray(rng.normal(size=shape)).astype(dtype)
    return rng.integers(0, 2 if dtype.kind == "b" else 100, size=shape).astype(dtype)


def nodes_that_run(model: onnx.ModelProto) -> int | None:
    """How many nodes ONNX Runtime runs, functions for which it has no kernel taken apart."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder, "run.onnx"))
        try:
            onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        except Exception:  # noqa: BLE001 - the runtime raises many kinds
            return None
        run = onnx.load(options.optimized_model_filepath)
    return sum(n.op_type not in ("Constant", "Cast") for n in run.graph.node)


@pytest.mark.parametrize("name", FORMS)
def test_form(name: str) -> None:
    opset, text, expected = FORMS[name]
    model = parsed(text, opset)
    optimized = ow.optimize(model)
    assert Counter(n.op_type for n in optimized.graph.node) == Counter(expected)
    kernels = nodes_that_run(model), nodes_that_run(optimized)
    assert None in kernels or kernels[0] >= kernels[1], "the runtime takes an operator apart"
    ran = 0
    for size in (1, 3):
        rng = np.random.default_rng(size)
        feeds = {v.name: drawn(v, size, rng) for v in model.graph.input}
        before = run_plainly(model, feeds)
        if before is None:
            continue
        ran += 1
        after = run_plainly(optimized, feeds, onnx.printer.to_text(optimized))
        assert after is not None
        for a, b in zip(before, after, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            tolerance = 2e-2 if a.dtype == np.float16 else 1e-4
            assert np.allclose(a, b, rtol=tolerance, atol=tolerance / 10, equal_nan=True)
    assert ran or name == "Dropout 6", "the runtime refuses the model itself"
