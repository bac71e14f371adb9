"""External data in sparse files: places far behind the begin, and tensors that no memory holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright.errors import ModelError
from onnxwright.testing import assert_isomorphic, diff

FAR = 1 << 42
X = np.zeros(2, np.float32)


def stored(folder: Path, name: str, numbers: list[float], offset: int, size: int) -> str:
    """A model with a weight of `size` bytes, whose numbers are followed by zeros."""
    with (folder / f"{name}.bin").open("wb") as file:
        file.seek(offset)
        file.write(np.array(numbers, np.float32).tobytes())
        file.truncate(offset + size)
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 20]> g (float[N] x) => (float[N] y) '
        f"<float[{size // 4}] w> {{ y = Add (x, w) }}"
    )
    model.graph.ClearField("value_info")
    weight = model.graph.initializer.add(name="w", data_type=1, dims=[size // 4], data_location=1)
    for key, value in (("location", f"{name}.bin"), ("offset", offset), ("length", size)):
        weight.external_data.add(key=key, value=str(value))
    path = folder / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    return str(path)


READERS: dict[str, Callable[[str, Any], object]] = {
    "debug": lambda path, _: ow.debug(path, [X]),
    "first_divergence": lambda path, _: ow.first_divergence(path, path, [X]),
    "to_script": lambda path, folder: ow.to_script(
        path, weights="npz", weights_file=str(folder / "w.npz")
    ),
}


@pytest.mark.parametrize("what", READERS)
def test_more_than_any_memory(what: str, tmp_path: Path) -> None:
    path = stored(tmp_path, "m", [], 0, FAR)
    with pytest.raises(ModelError, match=r"(?s)OW751.*`w`: its data take 4,398.0 GB"):
        READERS[what](path, tmp_path)


def test_numbers_far_behind_the_begin(tmp_path: Path) -> None:
    path = stored(tmp_path, "far", [1, 2], FAR, 8)
    near = stored(tmp_path, "near", [1, 2], 0, 8)
    assert np.asarray(ow.debug(path, [X]).outputs["y"]).tolist() == [1, 2]
    assert "1.0, 2.0" in ow.to_script(path)
    assert diff(path, near).brief() == "no difference (1 node)"
    other = stored(tmp_path, "other", [1, 3], FAR, 8)
    assert diff(path, other).brief() != "no difference (1 node)"


def test_holes_are_not_read_to_compare_them(tmp_path: Path) -> None:
    one, two = (stored(tmp_path, n, [1, 2], 0, FAR) for n in ("one", "two"))
    assert diff(one, two).brief() == "no difference (1 node)"
    assert_isomorphic(one, two)
    three = stored(tmp_path, "three", [1, 2.5], 0, FAR)
    differences = diff(one, three)
    assert differences.brief() != "no difference (1 node)"
    assert "other values in FLOAT[1099511627776]" in str(differences)
    with pytest.raises(AssertionError, match="initializer `w` differs"):
        assert_isomorphic(one, three)


def test_weights_in_a_file_equal_those_in_the_model(tmp_path: Path) -> None:
    size = 3 << 22
    path = stored(tmp_path, "m", [1, 2], 0, size)
    held = onnx.load(path)
    assert diff(held, path).brief() == "no difference (1 node)"
    raw = bytearray(held.graph.initializer[0].raw_data)
    raw[-1] = 1
    held.graph.initializer[0].raw_data = bytes(raw)
    assert diff(held, path).brief() != "no difference (1 node)"
