"""Models above the size of one message: weights stay where they are, and are copied nowhere."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

import onnxwright as ow
from onnxwright.cli.main import main
from onnxwright.eager.ort import model_sources
from onnxwright.errors import ModelError, ScriptValueError
from onnxwright.ir import saving
from onnxwright.testing import first_difference

N = 32


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model whose weights are in one file, above limits that are small here."""
    monkeypatch.setattr(saving, "_LIMIT", 6000)
    monkeypatch.setattr(model_sources, "LIMIT", 6000)
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    return written(tmp_path / "in" / "m.onnx")


def written(path: Path, layers: int = 3) -> Path:
    rng = np.random.default_rng(0)
    nodes, weights, last = [], {}, "x"
    for n in range(layers):
        weights[f"w{n}"] = rng.normal(size=(N, N)).astype(np.float32) / N**0.5
        weights[f"b{n}"] = rng.normal(size=N).astype(np.float32)
        weights[f"s{n}"] = rng.normal(size=N).astype(np.float32)
        nodes += [
            helper.make_node("Identity", [last], [f"i{n}"]),
            helper.make_node("MatMul", [f"i{n}", f"w{n}"], [f"m{n}"]),
            helper.make_node("Add", [f"m{n}", f"b{n}"], [f"a{n}"]),
            helper.make_node("Mul", [f"a{n}", f"s{n}"], [f"u{n}"]),
            helper.make_node("Relu", [f"u{n}"], [f"r{n}"]),
        ]
        last = f"r{n}"
    proto = helper.make_model(
        helper.make_graph(
            nodes,
            "large",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", N])],
            [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["rows", N])],
            [onnx.numpy_helper.from_array(a, k) for k, a in weights.items()],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    location = f"{path.stem}.bin"
    onnx.save(proto, path, save_as_external_data=True, location=location, size_threshold=0)
    return path


def in_memory(path: Path) -> ir.Model:
    """The model with its weights as arrays, which nothing may read or copy."""
    proto = ir.load(path)
    for value in proto.graph.initializers.values():
        assert value.const_value is not None
        value.const_value = ir.Tensor(value.const_value.numpy().copy(), name=value.name)
    return proto


def data_files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.suffix != ".onnx")


OPERATIONS = {
    "convert_version": lambda source, to: ow.convert_version(source, 21, output=to),
    "extract": lambda source, to: ow.extract(source, ["x"], ["r1"], output=to),
    "compose": lambda source, to: ow.compose(source, source, {"r2": "x"}, prefix="b_", output=to),
    "set_shapes": lambda source, to: ow.set_shapes(source, {"x": [4, None]}, output=to),
    "rename": lambda source, to: ow.rename(source, values={"w0": "first"}, output=to),
    "set_initializer": lambda source, to: ow.set_initializer(
        source, {"b1": np.ones(N, np.float32)}, output=to
    ),
    "initializers_to_inputs": lambda source, to: ow.initializers_to_inputs(source, output=to),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_weights_of_the_same_folder_are_not_written_again(name: str, model: Path) -> None:
    before = (model.parent / "m.bin").stat()
    path = OPERATIONS[name](model, model.parent / "new.onnx")
    assert data_files(model.parent) == ["m.bin"]
    assert (model.parent / "m.bin").stat().st_mtime_ns == before.st_mtime_ns
    weights = onnx.load(path, load_external_data=False).graph.initializer
    assert [t.name for t in weights if t.raw_data] == ["b1"] * (name == "set_initializer")
    onnx.checker.check_model(str(path), full_check=True)


@pytest.mark.parametrize("name", OPERATIONS)
def test_weights_of_another_folder_are_copied_once(name: str, model: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / "new.onnx"
    OPERATIONS[name](model, target)
    (data,) = data_files(target.parent)
    assert data.startswith("new.onnx.")
    held = sum(p.stat().st_size for p in target.parent.glob("*data"))
    assert held < 16 * 4096 + (model.parent / "m.bin").stat().st_size
    (model.parent / "m.bin").unlink()
    onnx.checker.check_model(str(target), full_check=True)
    assert ow.run_model(target, [np.ones((4, N), np.float32)])


def test_large_weights_go_to_a_file_where_others_are_in_files(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "_LARGE", 4096)
    monkeypatch.setattr(saving, "_LIMIT", 1 << 20)
    target, new = model.parent / "new.onnx", np.ones((N, N), np.float32)
    ow.set_initializer(model, {"w1": new, "b1": np.ones(N, np.float32)}, output=target)
    weights = onnx.load(target, load_external_data=False).graph.initializer
    assert [t.name for t in weights if t.raw_data] == ["b1"]
    assert (model.parent / data_files(model.parent)[-1]).stat().st_size == new.nbytes
    whole = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(target).graph.initializer}
    assert np.array_equal(whole["w1"], new)
    ow.set_initializer(onnx.load(model), {"w1": new}, output=tmp_path / "out" / "new.onnx")
    assert data_files(tmp_path / "out") == []


def test_the_model_may_be_replaced_by_the_result(model: Path) -> None:
    want = ow.run_model(model, [np.ones((4, N), np.float32)])
    ow.convert_version(model, 21, output=model)
    assert data_files(model.parent) == ["m.bin"]
    assert np.array_equal(ow.run_model(model, [np.ones((4, N), np.float32)]), want)


def test_a_link_to_a_model_of_another_folder(model: Path, tmp_path: Path) -> None:
    link = tmp_path / "out" / "link.onnx"
    link.symlink_to(model)
    ow.convert_version(link, 21, output=link)
    assert link.is_symlink()
    assert data_files(model.parent) == ["m.bin"]
    assert ow.run_model(link, [np.ones((4, N), np.float32)])


def test_weights_in_memory_go_beside_the_model(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / "new.onnx"
    ow.convert_version(in_memory(model), 21, output=target)
    assert len(data_files(target.parent)) == 1
    assert first_difference(model, target) is None


def test_weights_in_memory_are_not_serialized(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No weight is turned into bytes, whatever is done with an `onnx_ir.Model`."""
    source = in_memory(model)
    whole = ir.Tensor.tobytes

    def small(tensor: ir.Tensor) -> bytes:
        assert tensor.nbytes <= 1024
        return whole(tensor)

    monkeypatch.setattr(ir.Tensor, "tobytes", small)
    for name in ("extract", "set_shapes", "rename", "convert_version", "compose"):
        assert isinstance(OPERATIONS[name](source, None), ir.Model), name
    assert len(list(ow.optimize(source).graph)) == 6
    assert ow.run_model(source, [np.ones((4, N), np.float32)])[0].shape == (4, N)


def test_the_optimizer_and_its_check(model: Path) -> None:
    optimized = ow.optimize(model)
    assert first_difference(model, optimized) is None
    inputs = [np.ones((4, N), np.float32)]
    np.testing.assert_allclose(
        ow.run_model(optimized, inputs)[0], ow.run_model(model, inputs)[0], 1e-4
    )


def test_models_with_weights_elsewhere_are_compared_and_run(model: Path, tmp_path: Path) -> None:
    """What a path gave, and what two folders gave, is found from wherever Python runs."""
    same = ow.convert_version(model, 17)
    assert not ow.diff(model, same)
    ow.testing.assert_isomorphic(model, same)
    assert "external" in str(ow.show(same))
    other = written(tmp_path / "out" / "n.onnx", layers=1)
    both = ow.compose(model, other, {"r2": "x"}, prefix="b_")
    inputs = [np.ones((4, N), np.float32)]
    want = ow.run_model(other, ow.run_model(model, inputs))
    np.testing.assert_allclose(ow.run_model(both, inputs)[0], want[0], 1e-4)
    assert not ow.diff(both, both)
    changed = ow.diff(both, ow.set_initializer(both, {"w0": np.zeros((N, N), np.float32)}))
    assert "1,024 of 1,024 numbers" in str(changed)


def test_what_python_text_cannot_hold_is_refused(model: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("onnxwright.decompiler.api.INLINE_LIMIT", 6000)
    with pytest.raises(ScriptValueError, match="(?s)OW883.*weights='external'"):
        ow.to_script(model)
    text = ow.to_script(model, output=model.parent / "m.py", weights="external")
    assert 'External("m.bin"' in text


@pytest.mark.parametrize("line", [
    "convert {m} --opset 21 -o {out}", "optimize {m} -o {out} --verify",
    "extract {m} --inputs x --outputs r1 -o {out}",
    "compose {m} {m} --connect r2=x --prefix b_ -o {out}",
    "set-shapes {m} --dim rows=3 -o {out}", "rename {m} --inputs x=y -o {out}",
    "diff {m} {m}", "show {m}",
])  # fmt: skip
def test_commands(line: str, model: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / "new.onnx"
    assert main(line.format(m=model, out=target).split()) == 0
    if "{out}" in line:
        onnx.checker.check_model(str(target), full_check=True)


def test_a_text_form_of_another_folder_holds_its_weights(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "_LIMIT", 1 << 20)
    target = tmp_path / "out" / "new.json"
    assert main(f"convert {model} --opset 21 -o {target}".split()) == 0
    assert all(t.raw_data for t in onnx.load(target).graph.initializer)
    monkeypatch.setattr(saving, "_LIMIT", 6000)
    with pytest.raises(ModelError, match="one message holds 2 GB"):
        saving.as_proto(ow.convert_version(model, 21), tmp_path / "out")


BIG = """
import os, resource, sys
import numpy as np, onnx
from pathlib import Path
from tests.optimizer.test_large_models import sparse
import onnxwright as ow
from onnxwright.testing import first_difference

path = sparse(Path(sys.argv[1]) / "m.onnx")
import onnx_ir, onnxwright.optimizer, onnxwright.compare.diffing
resource.setrlimit(resource.RLIMIT_DATA, (1_200_000_000, resource.RLIM_INFINITY))
new = path.parent / "new.onnx"
for name, run in {
    "optimize": lambda: ow.optimize(path),
    "convert": lambda: ow.convert_version(path, 21, output=new),
    "extract": lambda: ow.extract(path, ["x"], ["r3"], output=new),
    "compose": lambda: ow.compose(path, path, {"r8": "x"}, prefix="b_", output=new),
    "set_shapes": lambda: ow.set_shapes(path, {"x": [4, None]}, output=new),
    "rename": lambda: ow.rename(path, values={"w0": "first"}, output=new),
    "set_initializer": lambda: ow.set_initializer(
        path, {"b1": np.ones(8192, np.float32)}, output=new
    ),
    "initializers_to_inputs": lambda: ow.initializers_to_inputs(path, output=new),
    "diff": lambda: ow.diff(path, ow.convert_version(path, 21)),
    "show": lambda: str(ow.show(path)),
    "script": lambda: ow.to_script(path, output=path.parent / "m.py", weights="external"),
    "other folder": lambda: ow.rename(
        path, values={"w0": "first"}, output=path.parent / "sub" / "new.onnx"
    ),
}.items():
    run()
    print(name, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "MB", flush=True)
"""


def sparse(path: Path, size: int = 8192, layers: int = 9) -> Path:
    """A model of 2.4 GB of weights, which are zeros that take no room on the disk."""
    written(path, layers)
    proto = onnx.load(path, load_external_data=False)
    place = 0
    for tensor in proto.graph.initializer:
        del tensor.external_data[:]
        tensor.dims[:] = [size] * len(tensor.dims)
        length = 4 * size ** len(tensor.dims)
        for key, text in (("location", "m.bin"), ("offset", place), ("length", length)):
            tensor.external_data.add(key=key, value=str(text))
        place += length
    for info in (*proto.graph.input, *proto.graph.output):
        info.type.tensor_type.shape.dim[1].dim_value = size
    del proto.graph.value_info[:]
    with (path.parent / "m.bin").open("wb") as file:
        file.truncate(place)
    path.write_bytes(proto.SerializeToString())
    (path.parent / "sub").mkdir()
    return path


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA counts memory on Linux only")
def test_2_4_gigabytes_in_half_of_it(tmp_path: Path) -> None:
    """Everything but running it takes less memory of its own than half of the weights."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BIG), str(tmp_path)],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, done.stderr
