"""Where arrays go: into the text, an .npz, the model's own external data, or a user's words."""

from __future__ import annotations

import ast
import gc
import runpy
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxwright.cli.main import main
from onnxwright.decompiler import to_script
from onnxwright.decompiler.rebuild import rebuild
from onnxwright.errors import ModelToolError
from onnxwright.testing import assert_isomorphic

RNG = np.random.default_rng(3)
ARRAYS = {
    "float": RNG.normal(size=(8, 8)).astype(np.float32),
    "double": RNG.normal(size=40),
    "half": RNG.normal(size=40).astype(np.float16),
    "bfloat16": RNG.normal(size=(6, 7)).astype(ml_dtypes.bfloat16),
    "float8": RNG.normal(size=40).astype(ml_dtypes.float8_e4m3fn),
    "int4": RNG.integers(-8, 7, size=41).astype(ml_dtypes.int4),
    "bool": RNG.integers(0, 2, size=40).astype(bool),
    "complex": (RNG.normal(size=20) + 1j * RNG.normal(size=20)).astype(np.complex64),
    "int": RNG.integers(-(2**62), 2**62, size=40),
    "uint": RNG.integers(0, 2**63, size=40, dtype=np.uint64) * 2 + 1,
    "strange": np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38, 0.1], np.float32),
    "payload": np.array([0x7FC00001, 0xFFC00000], np.uint32).view(np.float32),
    "empty": np.zeros((0, 3), np.float32),
    "scalar": np.array(0.1, np.float32),
    "long": RNG.normal(size=5000).astype(np.float32),
    "strings": np.array(["a", "é\n'\"", "", "\x00"], object),
    "bytes": np.array([b"\xff\xfe", b"ok"], object),
}
SIX_BITS = ["float6"] if hasattr(TensorProto, "FLOAT6E2M3") else []  # onnx 1.23 has them
ARRAYS |= {name: RNG.normal(size=41).astype(ml_dtypes.float6_e2m3fn) for name in SIX_BITS}


def model_of(arrays: dict[str, np.ndarray]) -> onnx.ModelProto:
    """A model that reads each array, once as an initializer and once as a constant."""
    nodes, tensors = [], []
    for n, (name, array) in enumerate(arrays.items()):
        if array.dtype == object:
            values = [v if isinstance(v, bytes) else v.encode() for v in array.ravel()]
            tensor = helper.make_tensor(name, TensorProto.STRING, array.shape, values)
        else:
            tensor = numpy_helper.from_array(array, name)
        tensors.append(tensor)
        nodes += [
            helper.make_node("Identity", [name], [f"i{n}"]),  # noqa: TID251
            helper.make_node("Constant", [], [f"c{n}"], value=tensor),  # noqa: TID251
        ]
    nodes.append(helper.make_node("Identity", ["x"], ["y"]))  # noqa: TID251
    x, y = (helper.make_tensor_value_info(n, 1, [2]) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


@pytest.mark.parametrize("limit", [0, 16, True], ids=str)
@pytest.mark.parametrize("name", ARRAYS)
def test_every_bit_comes_back(name: str, limit: int | bool) -> None:
    model = model_of({name: ARRAYS[name]})
    assert_isomorphic(model, rebuild(to_script(model, inline_constants=limit)))


def test_npz_keeps_arrays_out_of_the_text(tmp_path: Path) -> None:
    model = model_of(ARRAYS)
    source = to_script(model, weights="npz", weights_file=tmp_path / "w.npz")
    (tmp_path / "m.py").write_text(source)
    numbers = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Constant)]
    assert len(numbers) < 900
    assert not any(isinstance(n.value, bytes) and len(n.value) > 300 for n in numbers)
    assert_isomorphic(model, rebuild(source, str(tmp_path / "m.py")))
    with np.load(tmp_path / "w.npz", allow_pickle=False) as held:
        assert "half" in held


@pytest.mark.parametrize("weights", ["external", "inline"])
def test_external_data(weights: str, tmp_path: Path) -> None:
    """Left where it is, or read into the text; the same numbers in both."""
    names = ["float", "double", "int4", "bfloat16", "bool", *SIX_BITS]
    model = model_of({name: ARRAYS[name] for name in names})
    plain = onnx.ModelProto.FromString(model.SerializeToString())
    path = tmp_path / "m.onnx"
    onnx.save(
        model, path, save_as_external_data=True, location="m.bin", size_threshold=0,
        convert_attribute=False,
    )  # fmt: skip
    source = to_script(path, weights=weights)  # type: ignore[arg-type]
    back = rebuild(source, str(tmp_path / "m.py"))
    assert_isomorphic(plain, back, folders=("", str(tmp_path)))
    outside = [t.data_location == TensorProto.EXTERNAL for t in back.graph.initializer]
    assert all(outside) == (weights == "external")
    if weights == "external":
        assert "External(" in source
        assert_isomorphic(onnx.load(path, load_external_data=False), back)


@pytest.mark.parametrize("place", ["m.py", "other/deep/m.py", "model/m.py"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_weights_are_found_from_another_folder(place: str, tmp_path: Path) -> None:
    """The text may be written anywhere, with `output=` or by the command."""
    model = model_of({"float": ARRAYS["float"]})
    plain = onnx.ModelProto.FromString(model.SerializeToString())
    folder = tmp_path / "model"
    folder.mkdir()
    path, target = folder / "m.onnx", tmp_path / place
    target.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path, save_as_external_data=True, location="m.bin", size_threshold=0)
    source = to_script(path, weights="external", output=target)
    assert_isomorphic(plain, rebuild(source, str(target)), folders=("", str(folder)))
    assert main(["to-script", str(path), "--weights", "external", "-o", str(target)]) == 0
    written = target.read_text(encoding="utf-8")
    space = runpy.run_path(str(target))
    assert_isomorphic(plain, space["make_model"](), folders=("", str(folder)))
    assert "External(" in written
    arrays = to_script(path, weights="npz", weights_file=folder / "w.npz", output=target)
    assert_isomorphic(plain, rebuild(arrays, str(target)))
    # The arrays of a module stay open until it is freed: here, not in another test.
    gc.collect()


def test_a_function_says_where_arrays_go() -> None:
    seen = {}

    def keep(name: str, array: np.ndarray) -> str | None:
        seen[name] = array
        return f"np.full({array.shape}, 2.0, np.float32)" if name == "float" else None

    source = to_script(model_of({"float": ARRAYS["float"], "half": ARRAYS["half"]}), weights=keep)
    assert set(seen) == {"float", "half"}
    assert "np.full((8, 8), 2.0, np.float32)" in source


def test_one_array_in_two_places_stays_two() -> None:
    model = model_of({"a": ARRAYS["float"], "b": ARRAYS["float"]})
    assert_isomorphic(model, rebuild(to_script(model)))


@pytest.mark.slow
def test_large_weights_never_pass_through_text(tmp_path: Path) -> None:
    """256 MB of weights: written in a moment, in a text of a few lines."""
    array = np.ones((64, 1024, 1024), np.float32)
    model = model_of({"big": array})
    del model.graph.node[1]
    path = tmp_path / "m.onnx"
    onnx.save(model, path, save_as_external_data=True, location="m.bin")
    assert len(to_script(path, weights="external")) < 3000


@pytest.mark.parametrize("limit", [None, "all", 1.5, -1])
def test_limits_that_are_not_a_number_of_elements(limit: Any) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float x) => (float y) { y = Abs(x) }'
    )
    with pytest.raises(ModelToolError, match="OW882.*inline_constants"):
        to_script(model, inline_constants=limit)
