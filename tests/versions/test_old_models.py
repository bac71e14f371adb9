"""Models as tools of opset 7 to 12 wrote them, brought to newer versions, and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from onnxwright import convert_version
from tests.versions.backend_cases import run, same


def _read():
    """Name -> (opset version, graph)."""
    text = Path(__file__).with_name("old_models.txt").read_text(encoding="utf-8")
    found = {}
    for part in text.split("== ")[1:]:
        head, _, graph = part.partition("\n")
        name, _, version = head.partition(": opset ")
        found[name] = int(version), graph
    return found


MODELS = _read()
EXTRA = {
    "arithmetic": {"w": np.eye(3, dtype=np.float32) * 2, "z": np.zeros(3, np.float32)},
    "one hot and where": {"h": np.array([3, 4])},
}


def build(name):
    version, text = MODELS[name]
    model = parser.parse_model(f'<ir_version: 4, opset_import: ["" : {version}]> {text}')
    for key, array in EXTRA.get(name, {}).items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, key))
    return model, version


def inputs(model):
    rng = np.random.default_rng(0)
    made = []
    for info in model.graph.input:
        if info.type.tensor_type.elem_type == onnx.TensorProto.BOOL:
            made.append(np.array(True))
            continue
        known = info.type.tensor_type.HasField("shape")
        shape = [d.dim_value or 3 for d in info.type.tensor_type.shape.dim] if known else [2, 3, 2]
        made.append(rng.standard_normal(shape).astype(np.float32))
    return made


@pytest.mark.parametrize("name", MODELS)
def test_up_and_back(name):
    model, version = build(name)
    given = inputs(model)
    expected = run(model, given)
    for target in (11, 13, 18, 21, 23):
        if target < version:
            continue
        new = convert_version(model, target)
        onnx.checker.check_model(new, full_check=True)
        assert [o.version for o in new.opset_import] == [target]
        assert same(expected, run(new, given)), target
        back = convert_version(new, version)
        onnx.checker.check_model(back)
        assert same(expected, run(back, given)), f"{target} and back"
