"""`ow.load` and `ow.save`: forms by ending, weights inside or beside, equal ones once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import parser

import onnxwright as ow
from onnxwright.errors import ModelError, ModelNotFoundError
from onnxwright.ir import saving

X = np.ones((1, 64), np.float32)


def model(*, same: bool = False) -> onnx.ModelProto:
    """Two weights of 16 KB, and a small one."""
    made = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 18]> g (float[N,64] x) => (float[N,64] y) '
        "<float b = {0.5}> { h = MatMul(x, v)  i = MatMul(h, w)  y = Add(i, b) }"
    )
    rng = np.random.default_rng(0)
    first = rng.standard_normal((64, 64), dtype=np.float32)
    second = first if same else rng.standard_normal((64, 64), dtype=np.float32)
    for name, array in (("v", first), ("w", second)):
        made.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return made


def data_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix in (".data", ".weights"))


def same_results(path: object, expected: onnx.ModelProto) -> None:
    np.testing.assert_array_equal(ow.run_model(path, [X])[0], ow.run_model(expected, [X])[0])


@pytest.mark.parametrize("ending", [".onnx", ".json", ".textproto", ".onnxtxt", ".bin"])
def test_what_is_saved_is_loaded(ending: str, tmp_path: Path) -> None:
    path = ow.save(model(), tmp_path / f"m{ending}")
    assert not data_files(tmp_path)
    assert isinstance(ow.load(path), ir.Model)
    same_results(path, model())


def test_weights_go_beside_the_model(tmp_path: Path) -> None:
    path = ow.save(model(), tmp_path / "m.onnx", external_data=True)
    (data,) = data_files(tmp_path)
    assert path.stat().st_size < 2000
    assert data.stat().st_size == 2 * 64 * 64 * 4
    same_results(path, model())


def test_equal_weights_are_stored_once(tmp_path: Path) -> None:
    path = ow.save(model(same=True), tmp_path / "m.onnx", external_data=True)
    (data,) = data_files(tmp_path)
    assert data.stat().st_size == 64 * 64 * 4
    same_results(path, model(same=True))
    onnx.checker.check_model(str(path), full_check=True)


def test_weights_go_back_into_the_model(tmp_path: Path) -> None:
    path = ow.save(model(), tmp_path / "m.onnx", external_data=True)
    ow.save(path, path, external_data=False)
    assert not data_files(tmp_path)
    same_results(path, model())


def test_a_model_is_saved_over_itself(tmp_path: Path) -> None:
    path = ow.save(model(), tmp_path / "m.onnx", external_data=True)
    loaded = ow.load(path)
    ow.save(loaded, path, external_data=True)
    assert len(data_files(tmp_path)) == 1
    same_results(path, model())
    ow.save(ow.load(path), path)
    same_results(path, model())


def test_weights_of_another_folder_are_copied(tmp_path: Path) -> None:
    path = ow.save(model(), tmp_path / "m.onnx", external_data=True)
    (tmp_path / "other").mkdir()
    moved = ow.save(path, tmp_path / "other" / "m.onnx")
    for old in data_files(tmp_path):
        old.unlink()
    same_results(moved, model())


def test_the_model_that_is_saved_stays_as_it_is(tmp_path: Path) -> None:
    held = ir.from_proto(model())
    before = {n: v.const_value for n, v in held.graph.initializers.items()}
    ow.save(held, tmp_path / "m.onnx", external_data=True)
    assert {n: v.const_value for n, v in held.graph.initializers.items()} == before


def test_a_form_in_text_holds_weights_of_files(tmp_path: Path) -> None:
    path = ow.save(model(), tmp_path / "m.onnx", external_data=True)
    text = ow.save(path, tmp_path / "m.json")
    for old in data_files(tmp_path):
        old.unlink()
    same_results(text, model())


def test_weights_over_the_limit_are_not_put_into_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "_LIMIT", 20_000)
    with pytest.raises(ModelError, match="OW751"):
        ow.save(model(), tmp_path / "m.onnx", external_data=False)
    assert not list(tmp_path.iterdir())
    path = ow.save(model(), tmp_path / "m.onnx")
    assert len(data_files(tmp_path)) == 1
    same_results(path, model())


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ow.save(model(), tmp_path / "no" / "m.onnx")
    path = ow.save(model(), tmp_path / "m.onnx")
    before = path.read_bytes()
    with pytest.raises(TypeError, match="OW752"):
        ow.save(3, path)
    assert path.read_bytes() == before


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="OW741"):
        ow.load(tmp_path / "no.onnx")
