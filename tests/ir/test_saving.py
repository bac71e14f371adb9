"""`ow.load` and `ow.save`: forms by ending, weights inside or beside, equal ones once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import parser

import onnxwright as ow
from onnxwright.errors import ModelError, ModelToolError
from onnxwright.ir import saving

X = np.ones((1, 64), np.float32)


def model(*, same: bool = False) -> onnx.ModelProto:
    """Two weights of 16 KB, and a small one."""
    proto = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 18]> g (float[N,64] x) => (float[N,64] y) '
        "<float b = {0.5}> { h = MatMul(x, v)  i = MatMul(h, w)  y = Add(i, b) }"
    )
    rng = np.random.default_rng(0)
    first = rng.standard_normal((64, 64), dtype=np.float32)
    second = first if same else rng.standard_normal((64, 64), dtype=np.float32)
    for name, array in (("v", first), ("w", second)):
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return proto


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


@pytest.mark.parametrize("name", ["w.bin", "parts/w.bin"])
def test_weights_go_into_the_file_that_is_named(name: str, tmp_path: Path) -> None:
    path = ow.save(model(), tmp_path / "m.onnx", external_data=name)
    assert (tmp_path / name).stat().st_size == 2 * 64 * 64 * 4
    same_results(path, model())


def test_a_file_that_the_model_reads_is_not_replaced(tmp_path: Path) -> None:
    path = ow.save(model(), tmp_path / "m.onnx", external_data="w.bin")
    for source in (path, ow.load(path)):
        with pytest.raises(ModelToolError, match="OW882.*reads its weights from this file"):
            ow.save(source, tmp_path / "n.onnx", external_data="w.bin")
    assert not (tmp_path / "n.onnx").exists()
    same_results(path, model())


@pytest.mark.parametrize("external_data", ["", 1, ["w.bin"]])
def test_what_does_not_say_where_weights_go(external_data: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelToolError, match="OW882.*does not say where weights go"):
        ow.save(model(), tmp_path / "m.onnx", external_data=external_data)
    assert not list(tmp_path.iterdir())


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


def test_weights_over_the_limit_are_not_put_into_the_model(tmp_path, monkeypatch) -> None:
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


def beside(folder: Path, *, attribute: bool = False) -> Path:
    """A model whose first weight is in `w.bin`: an initializer, or what a Constant holds."""
    proto = model()
    if attribute:
        tensor = proto.graph.initializer.pop(1)  # `v`
        proto.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["v"], value=tensor))
    path = folder / "m.onnx"
    onnx.save_model(proto, str(path), save_as_external_data=True, location="w.bin",
                    convert_attribute=True)  # fmt: skip
    return path


@pytest.mark.parametrize("attribute", [False, True])
def test_a_data_file_that_is_missing_is_named(attribute: bool, tmp_path: Path) -> None:
    path = beside(tmp_path, attribute=attribute)
    (tmp_path / "other").mkdir()
    loaded = ow.load(path)
    (tmp_path / "w.bin").unlink()
    with pytest.warns(UserWarning, match=r"OW753.*`w\.bin`"):
        ow.save(loaded, tmp_path / "n.onnx")
    with pytest.warns(UserWarning, match="2 tensors are stored there"):
        ow.save(path, path)  # what a tool without the weights may do
    for target, outside in (("other/n.onnx", None), ("n.json", None), ("n.onnx", False),
                            ("n.onnx", True)):  # fmt: skip
        with pytest.raises(ModelError, match=r"OW743.*`w\.bin`"):
            ow.save(loaded, tmp_path / target, external_data=outside)
    assert not list((tmp_path / "other").iterdir())


@pytest.mark.parametrize("outside", [None, True, False])
def test_a_constant_in_a_file_goes_where_the_model_goes(outside: bool | None, tmp_path) -> None:
    path = beside(tmp_path, attribute=True)
    (tmp_path / "other").mkdir()
    loaded = ow.load(path)
    attr = loaded.graph[0].attributes["value"]
    moved = ow.save(loaded, tmp_path / "other" / "m.onnx", external_data=outside)
    assert loaded.graph[0].attributes["value"].value is attr.value
    ow.save(path, tmp_path / "m.json")
    (tmp_path / "w.bin").unlink()
    assert len(data_files(tmp_path / "other")) == (outside is not False)
    same_results(moved, model())
    same_results(tmp_path / "m.json", model())


def test_constants_of_several_folders_are_read(tmp_path: Path) -> None:
    """Weights whose files are not beside each other, as after joining two models."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first = ow.load(beside(tmp_path / "one", attribute=True))
    second = ow.load(beside(tmp_path / "two"))
    (tmp_path / "one" / "w.bin").rename(tmp_path / "one" / "other.bin")
    attr = first.graph[0].attributes["value"]
    old = attr.value
    tensor = ir.ExternalTensor("other.bin", old.offset, old.length, old.dtype, shape=old.shape,
                               name="v", base_dir=old.base_dir)  # fmt: skip
    first.graph[0].attributes["value"] = ir.Attr("value", attr.type, tensor)
    first.graph.initializers["w"].const_value = second.graph.initializers["w"].const_value
    same_results(ow.optimize(first), model())
    same_results(ow.save(first, tmp_path / "m.onnx"), model())


def test_data_in_a_file_without_a_name_is_refused(tmp_path: Path) -> None:
    path = beside(tmp_path)
    proto = onnx.load(str(path), load_external_data=False)
    for entry in (e for t in proto.graph.initializer for e in t.external_data):
        if entry.key == "location":
            entry.value = ""
    onnx.save(proto, str(path))
    with pytest.raises(ModelError, match="OW743"):
        ow.load(path)
