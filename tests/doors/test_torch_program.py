"""What files do with the `ONNXProgram` of torch.onnx: its tests, its values, its files."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from torch.export import Dim

import onnxwright as ow
from onnxwright import torch_onnx
from onnxwright.errors import ExportTypeError, ExportValueError


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x: Any, k: Any = None, mask: Any = None) -> Any:
        y = torch.relu(self.linear(x))
        return y if k is None else (y + k, {"total": y.sum()})


X = torch.randn(4, 3)
K = torch.ones(4)


@pytest.fixture
def model() -> Model:
    torch.manual_seed(0)
    return Model().eval()


# -- as torch.onnx calls it ------------------------------------------------------------------------


def test_a_call_gives_a_flat_tuple(model: Model) -> None:
    program = torch_onnx.export(model, (X, K))
    added, total = program(X, K)
    expected, more = model(X, K)
    torch.testing.assert_close(added, expected)
    torch.testing.assert_close(total, more["total"])
    (only,) = torch_onnx.export(model, (X,))(X)
    torch.testing.assert_close(only, model(X))


# -- values ----------------------------------------------------------------------------------------


def test_the_reference_implementation(model: Model) -> None:
    program = ow.export(model, (X, K))
    torch.testing.assert_close(program.call_reference(X, K), program(X, K))


def test_values_beside_the_outputs(model: Model) -> None:
    program = ow.export(model, (X, K))
    linear, x, bias = program.compute_values(["linear", "x", "linear.bias"], (X, K))
    torch.testing.assert_close(linear, model.linear(X))
    torch.testing.assert_close(x, X)
    torch.testing.assert_close(bias, model.linear.bias.detach())
    assert [v.name for v in program.model.graph.outputs] == ["add", "sum_1"]
    with pytest.raises(ExportValueError, match="no value `nothing`"):
        program.compute_values(["nothing"], (X, K))


# -- names of dimensions ---------------------------------------------------------------------------


class Bounded(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        y = torch.cat([x, x])
        return y / 2 if x.shape[0] > 3 else y


def test_dimensions_are_renamed_everywhere() -> None:
    shapes = ({0: Dim("n", min=2, max=64)},)
    with pytest.warns(ow.OnnxwrightWarning, match="OW833"):
        program = ow.export(Bounded(), (X,), dynamic_shapes=shapes, capture="non-strict")
    program.rename_axes({program.model.graph.inputs[0].shape[0]: "rows"})
    assert str(program.model.graph.outputs[0].shape) == "[2*rows,3]"
    stated = dict(program.model.metadata_props)
    assert json.loads(stated["onnxwright.size_ranges"]) == {"rows": [4, 64]}
    assert "rows" in stated["onnxwright.size_guards"]
    with pytest.raises(ExportTypeError, match="rows"):
        program(torch.randn(2, 3))
    torch.testing.assert_close(program(torch.randn(6, 3) * 0), torch.zeros(12, 3))


@pytest.mark.parametrize(
    ("mapping", "words"),
    [({"zz": "rows"}, "no dimension `zz`"), ({"n": "2 rows"}, "cannot be the name")],
)
def test_renamings_that_cannot_be(model: Model, mapping: Any, words: str) -> None:
    program = ow.export(model, (X,), dynamic_shapes={"x": {0: "n"}})
    with pytest.raises(ExportValueError, match=words):
        program.rename_axes(mapping)


# -- files -----------------------------------------------------------------------------------------


def test_a_file_object_takes_the_model(model: Model) -> None:
    program, buffer = ow.export(model, (X,)), io.BytesIO()
    assert program.save(buffer) is None
    assert len(onnx.load_from_string(buffer.getvalue()).graph.initializer) == 2
    with pytest.raises(ExportValueError, match="no place for files beside it"):
        program.save(io.BytesIO(), external_data=True)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"location": "w", "external_data": False}, ExportValueError),
        ({"location": "m.onnx"}, FileExistsError),
    ],
)
def test_names_of_data_files_that_cannot_be(model: Model, tmp_path, options, error) -> None:
    with pytest.raises(error):
        ow.export(model, (X,)).save(tmp_path / "m.onnx", threshold=0, **options)
    assert list(tmp_path.iterdir()) == []


def test_one_place_to_write_to(model: Model, tmp_path: Path) -> None:
    program: Any = ow.export(model, (X,))
    with pytest.raises(TypeError, match="one path"):
        program.save()
    with pytest.raises(TypeError, match="one path"):
        program.save(tmp_path / "a", destination=tmp_path / "b")


# -- errors and arguments --------------------------------------------------------------------------


def test_errors_are_those_of_torch_onnx(model: Model) -> None:
    assert issubclass(ow.ExportError, torch.onnx.OnnxExporterError)
    with pytest.raises(torch.onnx.OnnxExporterError):
        torch_onnx.export(model, (X, 1, 2, 3, 4))


@pytest.mark.parametrize(
    "program",
    [lambda m: ow.export(m, (X,), {"k": None, "mask": None}), lambda m: ow.export(m, (X, None))],
)
def test_inputs_that_were_none_may_be_left_out(model: Model, program: Any) -> None:
    exported = program(model)
    for call in ((X,), (X, None), (X, None, None)):
        torch.testing.assert_close(exported(*call), model(X))
    torch.testing.assert_close(exported(X, mask=None), model(X))
    with pytest.raises(ExportTypeError, match="was None"):
        exported(X, K)


def test_inputs_that_were_not_none_may_not(model: Model) -> None:
    program = ow.export(model, (X, K))
    torch.testing.assert_close(program(X, K, mask=None), model(X, K))
    with pytest.raises(ExportTypeError, match="`k` is missing"):
        program(X)
    with pytest.raises(ExportTypeError, match="no argument `typo`"):
        program(X, K, typo=None)


# -- operators that torch has for ONNX -------------------------------------------------------------

Q, TABLE = torch.randn(1, 4, 5, 8), torch.randn(16, 4)


@pytest.mark.parametrize("opset", [18, 20, 23])
@pytest.mark.parametrize(
    ("name", "function", "args"),
    [
        ("Attention", lambda q, k: torch.onnx.ops.attention(q, k, k)[0], (Q, Q + 1)),
        (
            "Attention",
            lambda q, k, m: torch.onnx.ops.attention(
                q, k, k, m, q_num_heads=4, kv_num_heads=2, scale=0.5
            )[0],
            (torch.randn(1, 5, 32), torch.randn(1, 5, 16), torch.randn(5, 5)),
        ),
        (
            "RotaryEmbedding",
            lambda x, c, s, p: torch.onnx.ops.rotary_embedding(x, c, s, p),
            (Q, TABLE, TABLE + 1, torch.arange(5)[None]),
        ),
    ],
)
def test_operators_of_newer_opsets_in_older_ones(
    opset: int, name: str, function: Any, args: tuple[Any, ...]
) -> None:
    program = ow.export(function, args, opset_version=opset)
    assert program.verify().ok
    assert (name in {n.op_type for n in program.model.graph}) == (opset >= 23)
