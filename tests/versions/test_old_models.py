"""Models as tools of opset 7 to 12 wrote them, brought to newer versions, and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from onnxwright import ConversionError, convert_version
from tests.harness.tables import each
from tests.versions.backend_cases import run, same


def _read():
    """Name -> (opset version, graph)."""
    text = Path(__file__).with_name("old_models.txt").read_text(encoding="utf-8")
    models = {}
    for part in text.split("== ")[1:]:
        head, _, graph = part.partition("\n")
        name, _, version = head.partition(": opset ")
        models[name] = int(version), graph
    return models


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
    arrays = []
    for info in model.graph.input:
        if info.type.tensor_type.elem_type == onnx.TensorProto.BOOL:
            arrays.append(np.array(True))
            continue
        has_shape = info.type.tensor_type.HasField("shape")
        shape = (
            [d.dim_value or 3 for d in info.type.tensor_type.shape.dim] if has_shape else [2, 3, 2]
        )
        arrays.append(rng.standard_normal(shape).astype(np.float32))
    return arrays


@pytest.mark.parametrize("name", MODELS)
def test_up_and_back(name):
    model, version = build(name)
    arrays = inputs(model)
    expected = run(model, arrays)
    for target in (11, 13, 18, 21, 23):
        if target < version:
            continue
        new = convert_version(model, target)
        onnx.checker.check_model(new, full_check=True)
        assert [o.version for o in new.opset_import] == [target]
        assert same(expected, run(new, arrays)), target
        back = convert_version(new, version)
        onnx.checker.check_model(back)
        assert same(expected, run(back, arrays)), f"{target} and back"


@each("target", [11, 14, 17, 18, 23])
def test_operators_that_the_runtime_has_before_onnx_has_them(target):
    model = parser.parse_model("""<ir_version: 4, opset_import: ["" : 13]>
        g (float[N,3,4] x, float[4] w, float[4] b) => (float[N,3,4] y, float[N,3,1] m) {
            n, m = LayerNormalization<axis=-1, epsilon=0.001>(x, w, b)
            f = Flatten<axis=1>(n)
            r = Softmax(f)
            h = Softmax<axis=1>(n)
            s = Reshape(r, i)
            y = Add(h, s) }""")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([-1, 3, 4]), "i"))
    arrays = [np.random.default_rng(0).standard_normal(s).astype("f4") for s in ((2, 3, 4), 4, 4)]
    new = convert_version(model, target)
    assert "LayerNormalization" in [node.op_type for node in new.graph.node]
    if target >= 17:  # the checker does not know it before
        onnx.checker.check_model(new, full_check=True)
    assert same(run(model, arrays), run(new, arrays))


def test_an_operator_of_the_runtime_that_newer_versions_do_not_have_is_refused():
    model = parser.parse_model("""<ir_version: 4, opset_import: ["" : 9]>
        g (float[N] x) => (float[N] y) { y = ScaledTanh<alpha=2.0, beta=0.5>(x) }""")
    with pytest.raises(ConversionError, match="version 13 of its opset has no such operator"):
        convert_version(model, 13)
