"""Initializers that hold the same are stored once, where that is not how weights begin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onnxwright as ow
from onnxwright.optimizer import shared_weights
from onnxwright.testing import first_difference

TEXT = """
    <ir_version: 10, opset_import: ["" : 20]>
    g (float[N,4] x, int64[N] i) => (float[N,4] y, int64[N] z) {
      a = MatMul(x, v)  b = Relu(a)  c = MatMul(b, w)  d = Add(c, s)  e = Tanh(d)  y = Mul(e, t)
      k = Add(i, m)  l = BitwiseXor(k, n)  z = Add(l, o) }"""


def model(**arrays: object) -> onnx.ModelProto:
    """The model with weights, equal ones by default."""
    proto = onnx.parser.parse_model(TEXT)
    square = np.arange(16, dtype=np.float32).reshape(4, 4) / 16
    row = np.array([1, 2, 3, 4], np.float32)
    one = np.array([5], np.int64)
    weights = {"v": square, "w": square, "s": row, "t": row, "m": one, "n": one, "o": one} | arrays
    for name, array in weights.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return proto


def names(proto: onnx.ModelProto) -> set[str]:
    """The initializers of a model."""
    return {t.name for t in proto.graph.initializer}


def test_equal_initializers_are_stored_once_and_named_in_the_report() -> None:
    before = model()
    optimized, report = ow.optimize(before, report=True)
    assert names(optimized) == {"v", "s", "m"}
    assert report.shared_weights == {"w": "v", "t": "s", "n": "m", "o": "m"}
    assert "w (as v)" in str(report)
    assert first_difference(before, optimized, exact=True) is None
    assert {"v", "w", "s", "t"} <= names(ow.optimize(before, skip=["share_weights"]))


@pytest.mark.parametrize("number", [0.0, 1.0, np.nan])
def test_weights_of_one_number_are_shared_only_if_frozen(number: float) -> None:
    """Biases and scales of an untrained model: they are equal now, and trained apart."""
    row = np.full(4, number, np.float32)
    before = model(s=row, t=row.copy())
    assert {"s", "t"} <= names(ow.optimize(before))
    assert "t" not in names(ow.optimize(before, assume=["frozen"]))


def test_weights_that_differ_are_not_read_whole(tmp_path, monkeypatch) -> None:
    """Weights of one shape in a file: of each a few bytes are read, and equal ones whole."""
    rng = np.random.default_rng(0)
    square = [rng.normal(size=(256, 256)).astype(np.float32) for _ in range(3)]
    weights = {"a": square[0], "b": square[1], "c": square[2], "d": square[0].copy()}
    proto = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 20]>
        g (float[N,256] x) => (float[N,256] y) {
          p = MatMul(x, a)  q = MatMul(p, b)  r = MatMul(q, c)  y = MatMul(r, d) }""")
    proto.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in weights.items())
    path = tmp_path / "m.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="m.data", size_threshold=0)
    read: list[int] = []
    pieces = shared_weights._reader

    def counted(tensor: object) -> object:
        part = pieces(tensor)

        def inner(start: int, end: int) -> object:
            read.append(end - start)
            return part(start, end)

        return inner

    monkeypatch.setattr(shared_weights, "_reader", counted)
    small = ow.optimize(str(path))
    assert set(small.graph.initializers) == {"a", "b", "c"}
    whole = square[0].nbytes
    assert sum(read) < 3.1 * whole  # two digests, and one look for a single number
    assert first_difference(str(path), small, exact=True) is None


def test_saving_stores_equal_data_once_under_all_names(tmp_path: Path) -> None:
    square = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    before = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 20]>
        g (float[N,64] x) => (float[N,64] y) { a = MatMul(x, v)  y = MatMul(a, w) }""")
    for name in "vw":
        before.graph.initializer.append(numpy_helper.from_array(square, name))
    (tmp_path / "out").mkdir()
    path = ow.save(before, tmp_path / "out" / "m.onnx", external_data=True)
    held = onnx.load(path, load_external_data=False)
    assert names(held) == {"v", "w"}
    data = sum(f.stat().st_size for f in path.parent.iterdir() if f != path)
    assert square.nbytes <= data < 1.5 * square.nbytes
    assert first_difference(before, str(path), exact=True) is None


def test_small_types_in_a_file_and_in_the_model(tmp_path: Path) -> None:
    """Elements of four bits are two in a byte in a file, and may be one in a byte in memory."""
    proto = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[4,3] x) => (float[4,3] y, float[4,3] z)
        <float s = {0.5}> { a = DequantizeLinear(v, s)  b = DequantizeLinear(w, s)
          y = Add(x, a)  z = Mul(x, b) }""")
    for name in "vw":
        values = [1, -2, 3, -4, 5, -6, 7, -8, 0, 1, 2, 3]
        proto.graph.initializer.append(
            onnx.helper.make_tensor(name, onnx.TensorProto.INT4, [4, 3], values)
        )
    assert "w" not in names(ow.optimize(proto))
    onnx.save(
        proto, tmp_path / "m.onnx", save_as_external_data=True, location="d", size_threshold=0
    )
    assert "w" not in ow.optimize(str(tmp_path / "m.onnx")).graph.initializers


@pytest.mark.parametrize(
    ("array", "name"),
    [
        (np.array([1, 2, 3, -0.0], np.float32), "t"),
        (np.array([[1, 2, 3, 4]], np.float32), "t"),
        (np.array([1, 2, 3, np.nan], np.float32), "t"),
    ],
)
def test_other_elements_are_not_shared(array: object, name: str) -> None:
    row = np.array([1, 2, 3, 0.0], np.float32)
    optimized = ow.optimize(model(s=row, **{name: array}))
    assert {"s", "t"} <= names(optimized)


def test_kept_given_and_output_initializers_stay() -> None:
    assert "w" in names(ow.optimize(model(), keep=["w"]))
    before = model()
    before.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, [4, 4]))
    assert {"v", "w"} <= names(ow.optimize(before))
    before = model()
    before.graph.output.append(onnx.helper.make_tensor_value_info("w", 1, [4, 4]))
    assert {"v", "w"} <= names(ow.optimize(before, assume=["frozen"]))


def test_one_region_of_a_file_is_one_weight(tmp_path: Path) -> None:
    before = model()
    onnx.save(before, tmp_path / "m.onnx", save_as_external_data=True, location="m.data",
              size_threshold=0)  # fmt: skip
    stored = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    tensors = {t.name: t for t in stored.graph.initializer}
    del tensors["w"].external_data[:]
    tensors["w"].external_data.extend(tensors["v"].external_data)
    onnx.save(stored, tmp_path / "n.onnx")
    optimized = ow.optimize(str(tmp_path / "n.onnx"))
    assert {"v", "s"} <= set(optimized.graph.initializers)
    assert "w" not in optimized.graph.initializers
