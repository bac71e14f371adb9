"""Initializers that hold the same are stored once, where nobody may train them apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onnxwright as ow
from onnxwright.testing import first_difference

TEXT = """
    <ir_version: 10, opset_import: ["" : 20]>
    g (float[N,4] x, int64[N] i) => (float[N,4] y, int64[N] z) {
      a = MatMul(x, v)  b = Relu(a)  c = MatMul(b, w)  d = Add(c, s)  e = Tanh(d)  y = Mul(e, t)
      k = Add(i, m)  l = BitwiseXor(k, n)  z = Add(l, o) }"""


def model(**arrays: object) -> onnx.ModelProto:
    """The model with weights, equal ones by default."""
    made = onnx.parser.parse_model(TEXT)
    square = np.arange(16, dtype=np.float32).reshape(4, 4) / 16
    row = np.array([1, 2, 3, 4], np.float32)
    one = np.array([5], np.int64)
    given = {"v": square, "w": square, "s": row, "t": row, "m": one, "n": one, "o": one} | arrays
    for name, array in given.items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return made


def names(made: onnx.ModelProto) -> set[str]:
    """The initializers of a model."""
    return {t.name for t in made.graph.initializer}


def test_integers_are_shared_and_weights_only_if_frozen() -> None:
    before = model()
    assert names(ow.optimize(before)) == {"v", "w", "s", "t", "m"}
    made = ow.optimize(before, assume=["frozen"])
    assert names(made) == {"v", "s", "m"}
    assert first_difference(before, made, exact=True) is None


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
    made = ow.optimize(model(s=row, **{name: array}), assume=["frozen"])
    assert {"s", "t"} <= names(made)


def test_kept_given_and_output_initializers_stay() -> None:
    assert "w" in names(ow.optimize(model(), assume=["frozen"], keep=["w"]))
    before = model()
    before.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, [4, 4]))
    assert {"v", "w"} <= names(ow.optimize(before, assume=["frozen"]))
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
    made = ow.optimize(str(tmp_path / "n.onnx"))
    assert {"v", "s", "t"} <= set(made.graph.initializers)
    assert "w" not in made.graph.initializers
