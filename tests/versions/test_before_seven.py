"""Models of opset 1 to 6 in newer versions: broadcasting by axis, attributes that became inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from onnxwright import convert_version
from onnxwright.errors import ConversionError
from tests.harness.tables import each
from tests.versions.backend_cases import run, same

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 11
IMAGE = (np.arange(72, dtype=np.float32).reshape(2, 3, 3, 4) - 30) / 7
C3, ROW, LAST = np.float32([1, -2, 3]), np.float32([2, 3, 4, 5]), np.array(3.5, np.float32)
COLUMN, PAIR = C3[:, None], X[0] / 4
# Name: (opset version, graph, inputs, what it computes).
CASES = {
    "add from an axis": (6, ("(float[2,3,4] x, float[3] b) => (float y)"
        "{ y = Add<broadcast=1, axis=1>(x, b) }"), [X, C3], X + COLUMN),
    "add from a negative axis": (6, ("(float[2,3,4] x, float[3] b) => (float y)"
        "{ y = Add<broadcast=1, axis=-2>(x, b) }"), [X, C3], X + COLUMN),
    "subtract at the end": (6, ("(float[2,3,4] x, float[4] b) => (float y)"
        "{ y = Sub<broadcast=1>(x, b) }"), [X, ROW], X - ROW),
    "multiply by a number": (1, ("(float[2,3,4] x, float b) => (float y)"
        "{ y = Mul<broadcast=1, consumed_inputs=[0,0]>(x, b) }"), [X, LAST], X * LAST),
    "divide two axes": (6, ("(float[2,3,4] x, float[3,4] b) => (float y)"
        "{ y = Div<broadcast=1, axis=1>(x, b) }"), [X, PAIR + 20], X / (PAIR + 20)),
    "divide the first axes": (6, ("(float[2,3,4] x, float[2,3] b) => (float y)"
        "{ y = Div<broadcast=1, axis=0>(x, b) }"), [X, X[:, :, 0] + 20], X / (X[:, :, :1] + 20)),
    "power": (1, ("(float[2,3,4] x, float[3] b) => (float y)"
        "{ a = Abs(x) y = Pow<broadcast=1, axis=1>(a, b) }"), [X, C3], np.abs(X) ** COLUMN),
    "greater": (1, ("(float[2,3,4] x, float[3] b) => (bool y)"
        "{ y = Greater<broadcast=1, axis=1>(x, b) }"), [X, C3], X > COLUMN),
    "or of comparisons": (6, ("(float[2,3,4] x, float[3] b) => (bool y) {"
        " a = Less<broadcast=1, axis=1>(x, b) c = Greater<broadcast=1, axis=1>(x, b)"
        " y = Or(a, c) }"), [X, C3], X != COLUMN),
    "chain of unknown shapes": (6, ("(float[2,3,4] x, float[3] b) => (float y) {"
        " a = Add<broadcast=1, axis=1>(x, b) c = Relu(a) y = Mul<broadcast=1, axis=1>(c, b) }"),
        [X, C3], np.maximum(X + COLUMN, 0) * COLUMN),
    "equal shapes": (6, "(float[2,3,4] x) => (float y) { y = Add(x, x) }", [X], X + X),
    "reshape by attribute": (4, "(float[2,3,4] x) => (float y) { y = Reshape<shape=[0,-1]>(x) }",
        [X], X.reshape(2, -1)),
    "pad": (1, "(float[2,3,4] x) => (float y) { y = Pad<paddings=[0,1,0,0,0,2], value=1.5>(x) }",
        [X], np.pad(X, [(0, 0), (1, 0), (0, 2)], constant_values=1.5)),
    "split": (1, ("(float[2,3,4] x) => (float y, float z)"
        "{ y, z = Split<axis=2, split=[1,3]>(x) }"), [X], [X[..., :1], X[..., 1:]]),
    "concatenate": (1, "(float[2,3,4] x) => (float y) { y = Concat(x, x) }", [X],
        np.concatenate([X, X], 1)),
    "tile": (1, ("(float[2,3,4] x) => (float y)"
        " <float t = {2.0}, float a = {1.0}> { y = Tile(x, t, a) }"), [X], np.tile(X, (1, 2, 1))),
    "cast": (1, '(float[2,3,4] x) => (int32 y) { y = Cast<to="INT32">(x) }', [X],
        X.astype(np.int32)),
    "clip": (1, "(float[2,3,4] x) => (float y) { y = Clip<min=-2.0, consumed_inputs=[0]>(x) }",
        [X], np.maximum(X, -2)),
    "dropout": (6, "(float[2,3,4] x) => (float y) { y = Dropout<is_test=1, ratio=0.3>(x) }", [X],
        X),
    "normalization": (6, ("(float[2,3,3,4] x, float[3] s) => (float y)"
        "{ v = Abs(s) y = BatchNormalization<is_test=1, epsilon=0.0>(x, s, s, s, v) }"),
        [IMAGE, C3], None),
    "slopes": (6, "(float[2,3,3,4] x, float[3] s) => (float y) { y = PRelu(x, s) }", [IMAGE, C3],
        np.where(IMAGE < 0, IMAGE * C3[:, None, None], IMAGE)),
    "one slope": (1, "(float[2,3,3,4] x) => (float y) <float[1] s = {0.5}> { y = PRelu(x, s) }",
        [IMAGE], np.where(IMAGE < 0, IMAGE * 0.5, IMAGE)),
    "product": (6, ("(float[3,4] a, float[4] c) => (float y)"
        "{ y = Gemm<broadcast=1, transA=1>(a, a, c) }"), [PAIR, ROW], PAIR.T @ PAIR + ROW),
    "upsample": (1, ("(float[2,3,3,4] x) => (float y)"
        "{ y = Upsample<height_scale=2.0, width_scale=1.0>(x) }"), [IMAGE], IMAGE.repeat(2, 2)),
    "pooling": (1, ("(float[2,3,3,4] x) => (float y)"
        "{ y = AveragePool<kernel_shape=[3,1], pads=[1,0,0,0]>(x) }"), [IMAGE], None),
    "norm": (1, "(float[2,3,3,4] x) => (float y) { y = GlobalLpPool<p=2.0>(x) }", [IMAGE],
        np.sqrt((IMAGE**2).sum((2, 3), keepdims=True))),
    "selu": (1, "(float[2,3,4] x) => (float y) { y = Selu(x) }", [X],
        1.0507 * np.where(X < 0, 1.6732 * np.expm1(X), X)),
    "body": (6, ("(float[2,3,4] x, float[3] b, bool[1] c) => (float y) {"
        " y = If(c) <then_branch = t () => (float u) { u = Add<broadcast=1, axis=1>(x, b) },"
        " else_branch = e () => (float w) { w = Identity(x) }> }"),
        [X, C3, np.array([True])], X + COLUMN),
}  # fmt: skip


def normalized():
    mean, spread = C3[:, None, None], np.sqrt(np.abs(C3))[:, None, None]
    return (IMAGE - mean) / spread * mean + mean


def pooled():
    rows = np.pad(IMAGE, [(0, 0), (0, 0), (1, 0), (0, 0)])
    sums = rows[:, :, :2] + rows[:, :, 1:3] + rows[:, :, 2:4]
    return sums / np.float32([2, 3])[:, None]


def build(name):
    version, graph, inputs, _ = CASES[name]
    model = parser.parse_model(f'<ir_version: 3, opset_import: ["" : {version}]> g {graph}')
    for tensor in model.graph.initializer:  # before IR 4 an initializer is an input, too
        kind = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        model.graph.input.append(kind)
    return model, inputs


@pytest.mark.parametrize("name", CASES)
def test_old_model(name):
    model, inputs = build(name)
    expected = CASES[name][3]
    if expected is None:
        expected = normalized() if name == "normalization" else pooled()
    expected = expected if isinstance(expected, list) else [expected]
    before = model.SerializeToString()
    for target in (7, 11, 13, 18, 23)[: 4 if name == "norm" else 5]:  # no kernel of 22
        new = convert_version(model, target)
        onnx.checker.check_model(new)
        assert same(list(map(np.asarray, expected)), run(new, inputs)), target
    assert model.SerializeToString() == before


REFUSED = {
    "dropout that drops": (6, "(float[2] x) => (float y) { y = Dropout(x) }", "is_test"),
    "normalization that trains": (6, ("(float[2,3] x, float[3] s) => (float y)"
        " { y = BatchNormalization(x, s, s, s, s) }"), "is_test"),
    "tiles that are computed": (1, ("(float[2] x, float t, float a) => (float y)"
        " { y = Tile(x, t, a) }"), "tiles"),
}  # fmt: skip


@each("name", REFUSED)
def test_what_has_no_newer_meaning_is_refused(name):
    version, graph, reason = REFUSED[name]
    model = parser.parse_model(f'<ir_version: 3, opset_import: ["" : {version}]> g {graph}')
    with pytest.raises(ConversionError, match=reason):
        convert_version(model, 13)


def stored():
    """The models that PyTorch exported at opset 6, which the installed onnx holds."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "pytorch-operator"
    folders = [f for f in sorted(folder.iterdir()) if (f / "model.onnx").exists()]
    return [f for f in folders if onnx.load(f / "model.onnx").opset_import[0].version < 7]


def arrays(files):
    return [numpy_helper.to_array(onnx.load_tensor(file)) for file in sorted(files)]


def test_stored_models():
    folders = stored()
    assert len(folders) > 20
    for folder in folders:
        data = folder / "test_data_set_0"
        inputs, expected = arrays(data.glob("input_*.pb")), arrays(data.glob("output_*.pb"))
        for target in (7, 18):
            new = convert_version(onnx.load(folder / "model.onnx"), target)
            assert same(expected, run(new, inputs)), (folder.name, target)
