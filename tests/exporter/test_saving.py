"""Models on disk: weights inside or beside, mapped, left out; nothing half-written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest
import torch
from torch import nn, randn

import onnxwright as ow
from onnxwright import errors


def large() -> Any:
    """A model with 40 kB of weights and a small bias."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 2))


def agrees(path: Path, model: Any, x: Any) -> None:
    """The file passes the checker and computes what torch does."""
    onnx.checker.check_model(str(path), full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    torch.testing.assert_close(torch.from_numpy(got), model(x).detach(), rtol=1e-4, atol=1e-5)


def files(folder: Path) -> list[str]:
    """All files below a folder; what a name takes from the content is left out."""
    names = (str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    return sorted(re.sub(r"\.[0-9a-f]{16}\.", ".*.", name) for name in names)


def test_a_small_model_is_one_file(tmp_path: Path) -> None:
    """No empty data file beside it, however it is asked for."""
    model, x = nn.Linear(3, 2), randn(1, 3)
    for n, external in enumerate((None, True, "per_tensor", False)):
        folder = tmp_path / str(n)
        folder.mkdir()
        path = ow.export(model, (x,)).save(folder / "m.onnx", external_data=external)
        assert files(folder) == ["m.onnx"]
        agrees(path, model, x)


@pytest.mark.parametrize("location", ["w.bin", "weights/model.data", "a/b/c.data"])
def test_weights_in_a_file_that_is_named(location: str, tmp_path: Path) -> None:
    """Beside the model or in a folder below; a second save replaces the file."""
    model, x = large(), randn(1, 100)
    for _ in range(2):
        path = ow.export(model, (x,)).save(tmp_path / "m.onnx", location=location)
        assert files(tmp_path) == sorted(["m.onnx", location])
        agrees(path, model, x)


@pytest.mark.parametrize("location", ["/w.bin", "../w", "a/../w", "a//w", "w/", "C:w", "a\\w", 5])
def test_weights_stay_below_the_folder_of_the_model(location: Any, tmp_path: Path) -> None:
    """Other paths are refused before anything is written."""
    program = ow.export(large(), (randn(1, 100),))
    with pytest.raises(errors.ExportValueError, match="below the model's folder"):
        program.save(tmp_path / "m.onnx", location=location)
    assert files(tmp_path) == []


def test_weights_do_not_follow_a_link_out_of_the_folder(tmp_path: Path) -> None:
    """No runtime would read them there."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "here" / "w").symlink_to(tmp_path / "there")
    with pytest.raises(OSError, match="out of the folder"):
        ow.export(large(), (randn(1, 100),)).save(tmp_path / "here" / "m.onnx", location="w/m.data")
    assert files(tmp_path) == []


def test_weights_are_inside_by_default(tmp_path: Path) -> None:
    """Under the limit of protobuf."""
    model, x = large(), randn(1, 100)
    agrees(ow.export(model, (x,)).save(tmp_path / "m.onnx"), model, x)
    assert files(tmp_path) == ["m.onnx"]


def test_weights_beside_the_model(tmp_path: Path) -> None:
    """In one file."""
    model, x = large(), randn(1, 100)
    path = ow.export(model, (x,)).save(tmp_path / "m.onnx", external_data=True)
    assert files(tmp_path) == ["m.onnx", "m.onnx.*.data"]
    assert path.stat().st_size < 20_000
    agrees(path, model, x)


def test_equal_weights_are_stored_once(tmp_path: Path) -> None:
    """As in every file that the package writes."""
    layer = nn.Linear(100, 100)
    model, x = nn.Sequential(layer, nn.ReLU(), nn.Linear(100, 100)), randn(1, 100)
    model[2].load_state_dict(layer.state_dict())
    path = ow.export(model, (x,)).save(tmp_path / "m.onnx", external_data=True)
    (data,) = tmp_path.glob("*.data")
    assert data.stat().st_size < 50_000
    agrees(path, model, x)


@pytest.mark.parametrize("external", [None, True])
def test_the_ending_of_the_path_says_the_form(external: Any, tmp_path: Path) -> None:
    """A form in text holds its weights, as `ow.save` writes it."""
    model, x = large(), randn(1, 100)
    program = ow.export(model, (x,))
    path = program.save(tmp_path / "m.json", external_data=external)
    assert files(tmp_path) == ["m.json"]
    assert path.read_text(encoding="utf-8").startswith("{")
    got = ow.CompiledModel(path)(x.numpy())
    torch.testing.assert_close(torch.from_numpy(got), model(x).detach(), rtol=1e-4, atol=1e-5)


def test_one_file_a_weight(tmp_path: Path) -> None:
    """In a folder."""
    model, x = large(), randn(1, 100)
    path = ow.export(model, (x,)).save(tmp_path / "m.onnx", external_data="per_tensor", threshold=0)
    assert len(files(tmp_path)) == 5
    agrees(path, model, x)


def test_saving_leaves_the_program_as_it_was(tmp_path: Path) -> None:
    """It runs, and is saved again."""
    model, x = large(), randn(1, 100)
    program = ow.export(model, (x,))
    before = program.model_proto.SerializeToString(deterministic=True)
    program.save(tmp_path / "a.onnx", external_data=True)
    program.save(tmp_path / "b.onnx", include_initializers=False)
    program.save(tmp_path / "c.onnx", keep_initializers_as_inputs=True)
    assert program.model_proto.SerializeToString(deterministic=True) == before
    torch.testing.assert_close(program(x), model(x).detach(), rtol=1e-4, atol=1e-5)


def test_weights_are_left_out(tmp_path: Path) -> None:
    """They become inputs."""
    program = ow.export(large(), (randn(1, 100),))
    path = program.save(tmp_path / "m.onnx", include_initializers=False)
    proto = onnx.load(path)
    assert not proto.graph.initializer
    assert len(proto.graph.input) == 5


def test_weights_are_listed_as_inputs_too(tmp_path: Path) -> None:
    """With numbers."""
    model, x = large(), randn(1, 100)
    path = ow.export(model, (x,)).save(tmp_path / "m.onnx", keep_initializers_as_inputs=True)
    proto = onnx.load(path)
    assert {i.name for i in proto.graph.initializer} < {i.name for i in proto.graph.input}
    agrees(path, model, x)


def test_an_unknown_way_is_said(tmp_path: Path) -> None:
    """And nothing is written."""
    program = ow.export(nn.ReLU(), (randn(2),))
    with pytest.raises(errors.ExportValueError, match="is not a way to write weights"):
        program.save(tmp_path / "m.onnx", external_data="zip")
    for threshold in (-1, "a", True):
        with pytest.raises(errors.ExportValueError, match="is not a number of bytes"):
            program.save(tmp_path / "m.onnx", threshold=threshold)
    assert files(tmp_path) == []


def test_half_weights_are_written_as_they_are(tmp_path: Path) -> None:
    """bfloat16 takes two bytes."""
    model = large().to(torch.bfloat16)
    path = ow.export(model, (randn(1, 100).bfloat16(),)).save(
        tmp_path / "m.onnx", external_data=True
    )
    onnx.checker.check_model(str(path), full_check=True)
    (data,) = tmp_path.glob("m.onnx.*.data")
    assert data.stat().st_size < 30_000


def test_weights_that_would_be_copied_go_through_a_file(tmp_path: Path, monkeypatch: Any) -> None:
    """What is stored transposed, or folded, is read from a file that is gone afterwards."""
    from onnxwright.exporter.program import running

    monkeypatch.setattr(running, "_MANY", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    written = []
    write = running._write
    monkeypatch.setattr(running, "_write", lambda *a: (written.extend(a[1]), write(*a))[1])
    model = nn.Sequential(
        nn.Linear(30, 40), nn.Linear(40, 50), nn.Conv1d(3, 200, 1),
        nn.BatchNorm1d(200),
    ).eval()  # fmt: skip
    x = randn(2, 3, 30)
    program = ow.export(model, (x,))
    for _ in range(2):
        torch.testing.assert_close(program(x), model(x).detach())
    assert written == ["0.weight", "1.weight", "2.weight.folded"]
    assert list(tmp_path.iterdir()) == []


class Folded(torch.nn.Module):
    """Weights that an optimized model stores transposed, or folded into others."""

    def __init__(self) -> None:
        super().__init__()
        self.decay, self.scale = (torch.nn.Parameter(torch.rand(4)) for _ in range(2))
        self.proj = torch.nn.Linear(4, 3, bias=False)
        self.conv, self.norm = torch.nn.Conv1d(3, 5, 1), torch.nn.BatchNorm1d(5)
        self.out, self.rnn = torch.nn.Linear(5, 4), torch.nn.LSTM(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.proj(x * -torch.exp(self.decay))
        y = self.norm(self.conv(y.mT)).mT
        return self.rnn(self.out(y) * (1 + self.scale))[0]


def run_with_weights(path: Path, model: Any, x: Any) -> Any:
    """Run a file without weights on those of a module."""
    session = onnxruntime.InferenceSession(path)
    weights = {n: t.numpy() for n, t in model.state_dict().items()}
    first, *rest = (v.name for v in session.get_inputs())
    assert set(rest) == {n for n in weights if not n.endswith("num_batches_tracked")}
    feeds = {first: x.numpy(), **{name: weights[name] for name in rest}}
    return torch.from_numpy(session.run(None, feeds)[0])


@pytest.mark.parametrize("options", [{}, {"optimize": False}, {"opset_version": 16}])
def test_weights_without_data_have_the_names_and_shapes_of_the_module(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    model = Folded().eval().requires_grad_(False)
    x = randn(2, 6, 4)
    program = ow.export(model, (x,), dynamic_shapes=({0: "batch"},), **options)
    before = program.model_proto.SerializeToString(deterministic=True)
    program.rename_axes({"batch": "rows"})
    path = program.save(tmp_path / "m.onnx", include_initializers=False)
    x = randn(3, 6, 4)
    torch.testing.assert_close(run_with_weights(path, model, x), model(x), rtol=1e-4, atol=1e-5)
    assert onnx.load(path).graph.input[0].type.tensor_type.shape.dim[0].dim_param == "rows"
    program.rename_axes({"rows": "batch"})
    assert program.model_proto.SerializeToString(deterministic=True) == before


def test_weights_of_a_changed_model_cannot_be_left_out(tmp_path: Path) -> None:
    program = ow.export(Folded().eval(), (randn(2, 6, 4),))
    node = program.model.graph[-1]
    node.op_type = "Neg" if node.op_type == "Identity" else "Identity"
    with pytest.raises(errors.ExportValueError, match="weights of the model are made of those"):
        program.save(tmp_path / "m.onnx", include_initializers=False)
