"""What a new user does wrong, and what may go wrong while files are written."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportError, ExportTypeError, ExportValueError
from onnxwright.exporter.program import saving
from onnxwright.ir import saving as ir_saving
from tests.harness.modules import module_with
from tests.harness.tables import each


@module_with(lambda: {"layer": torch.nn.Linear(32, 32)})
def Scaled(self, x: Any, pair: Any = None, *, scale: Any = 1.0) -> Any:
    """A linear layer, with an argument by keyword, and a result that is nested."""
    shifted = self.layer(x) * scale
    return {"out": shifted if pair is None else shifted + pair[0] - pair[1]}


X = torch.linspace(-1, 1, 64).reshape(2, 32)


@pytest.fixture(scope="module")
def module() -> Any:
    torch.manual_seed(0)
    return Scaled().eval()


@pytest.fixture(scope="module")
def program(module: Any) -> Any:
    return ow.export(module, (X,), dynamic_shapes={"x": {0: "batch"}})


@pytest.fixture(scope="module")
def paired(module: Any) -> Any:
    return ow.export(module, (X, (X, X)), {"scale": torch.tensor(2.0)})


# -- arguments of export ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"args": X}, "`args`: an object of type Tensor"),
        ({"kwargs": (X,)}, "`kwargs`: an object of type tuple"),
        ({"dynamic_shapes": 3}, "3 is not a list, tuple or dict"),
        ({"dynamic_shapes": "batch"}, "'batch' is not the name of a way to find them"),
        ({"dynamic_shapes": {"x": 3}}, "3 for a tensor"),
        ({"dynamic_shapes": {"x": {5: "batch"}}}, "axis 5 of a tensor of rank 2"),
        ({"dynamic_shapes": {"x": ["batch"]}}, "1 entries for a tensor of rank 2"),
        ({"dynamic_shapes": {"y": {0: "batch"}}}, "there is no argument `y`"),
        ({"dynamic_shapes": ({0: "a"}, {0: "b"})}, "2 entries for 1 arguments"),
        ({"opset_version": "18"}, "'18' is not possible"),
        ({"capture": "jit"}, "unknown strategy 'jit'"),
        ({"custom_translation_table": {"aten::linear": 3}}, "is not a function, but 3"),
        ({"custom_translation_table": {"aten::linaer": print}}, "no operator `aten::linaer`"),
        ({"custom_translation_table": {"aten::add.Tnsor": print}}, "no overload `Tnsor`"),
        ({"custom_translation_table": {"linear": print}}, "not a full name of an operator"),
        ({"custom_translation_table": [print]}, "an object of type list"),
        ({"fallback": 3}, "`fallback`: 3 is not a function"),
        ({"export_modules_as_functions": "Linear"}, "'Linear' is not a class"),
        ({"export_modules_as_functions": ["Linear"]}, "'Linear' is not a class"),
        ({"input_names": ["a", "b"]}, "2 names for 1 values: x"),
    ],
)
def test_a_wrong_argument_is_told(module: Any, given: dict[str, Any], words: str) -> None:
    with pytest.raises(ExportValueError, match="OW825") as caught:
        ow.export(module, **{"args": (X,), **given})
    assert words in str(caught.value)
    assert __file__ in str(caught.value)


def test_one_name_may_be_a_string(module: Any) -> None:
    named = ow.export(module, (X,), input_names="image", output_names="scores")
    assert [v.name for v in named.model.graph.inputs] == ["image"]
    assert [v.name for v in named.model.graph.outputs] == ["scores"]


@each(
    ("model", "words"),
    [
        (Scaled, r"`Scaled` is a class.*\n(.*\n)*.*`Scaled\(...\)`"),
        ("no_such.pt2", "`no_such.pt2` is not an exported program"),
        (3, "an object of type int cannot be exported"),
    ],
)
def test_a_model_that_is_none_is_told(model: Any, words: str) -> None:
    with pytest.raises(ExportValueError, match=words):
        ow.export(model, (X,))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@each(
    ("make", "words"),
    [
        (lambda: torch.jit.script(torch.nn.ReLU()), "the module is code of TorchScript"),
        (lambda: torch.jit.trace(torch.nn.ReLU(), X), "the module is code of TorchScript"),
        (lambda: torch.jit.trace(torch.sin, X), "the function is code of TorchScript"),
        (
            lambda: torch.nn.Sequential(torch.nn.Sequential(torch.jit.script(torch.nn.ReLU()))),
            "`0.0` is code of TorchScript",
        ),
    ],
)
def test_torchscript_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ExportValueError, match=f"OW825.*{words}"):
        ow.export(make(), (X,))


def test_missing_inputs_are_told(module: Any) -> None:
    with pytest.raises(ExportError, match="give example inputs for all arguments"):
        ow.export(module)


def test_arrays_as_examples_are_told(module: Any) -> None:
    with pytest.raises(ExportError, match="from_numpy"):
        ow.export(module, (X.numpy(),))


def test_inputs_on_another_device_are_told() -> None:
    with pytest.raises(ExportError, match="on one device"):
        ow.export(torch.nn.Linear(2, 1, device="meta"), (torch.ones(1, 2),))


def test_an_export_inside_autocast_is_refused(module: Any) -> None:
    with (
        torch.autocast("cpu", torch.bfloat16),
        pytest.raises(ExportValueError, match=r"OW825.*torch\.autocast"),
    ):
        ow.export(module, (torch.ones(2, 3),))


def test_a_failed_capture_points_at_the_line_of_the_model() -> None:
    def choose(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    with pytest.raises(ExportError, match="OW821") as caught:
        ow.export(choose, (X,), capture="substitutes")
    text = str(caught.value)
    assert "return x if x.sum() > 0 else -x" in text
    assert "torch.cond" in text
    assert "TORCHDYNAMO" not in text
    assert len(text.splitlines()) < 16


def test_a_report_makes_its_folder(module: Any, tmp_path: Path) -> None:
    ow.export(module, (X,), report=tmp_path / "new" / "folder" / "report")
    assert (tmp_path / "new" / "folder" / "report.md").read_text().startswith("# ONNX export: done")


# -- calls -----------------------------------------------------------------------------------------


def test_numpy_arrays_stand_for_tensors(program: Any, module: Any) -> None:
    torch.testing.assert_close(program(X.numpy()), module(X), rtol=1e-5, atol=1e-6)


def test_arguments_come_by_position_or_by_keyword(paired: Any, module: Any) -> None:
    two = torch.tensor(2.0)
    wanted = module(X, (X, X + 1), scale=two)
    for found in (
        paired(X, (X, X + 1), scale=two),
        paired(x=X, pair=(X, X + 1), scale=two),
        paired(X, scale=two, pair=(X, X + 1)),
        paired(X, (X, X + 1), two),
    ):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


@each(
    ("args", "kwargs", "words"),
    [
        ((), {}, "`x` is missing"),
        ((X,), {"other": X}, "no argument `other`"),
        ((X, X), {}, "2 arguments are given, the program takes 1"),
        ((X,), {"x": X}, "`x` is given twice"),
        (([X],), {}, "nested in another way: `program([...])`"),
        ((X.double(),), {}, "`x` is DOUBLE[2, 32], the model wants FLOAT[batch, 32]"),
        ((X.double().numpy(),), {}, "`x` is DOUBLE[2, 32]"),
        ((X[0],), {}, "`x` is FLOAT[32]"),
        ((X[:, :3],), {}, "`x` is FLOAT[2, 3]"),
        (("text",), {}, "`x` is a value of type str"),
        ((None,), {}, "`x` is a value of type NoneType"),
    ],
)
def test_inputs_that_do_not_fit_are_told(program: Any, args: Any, kwargs: Any, words: str) -> None:
    with pytest.raises(ExportTypeError, match="OW826") as caught:
        program(*args, **kwargs)
    assert words in str(caught.value)


def test_dicts_come_in_any_order() -> None:
    made = ow.export(lambda d: d["a"] - d["b"][0], ({"a": X, "b": [X + 1]},))
    torch.testing.assert_close(made({"b": [X], "a": X + 2}), torch.full_like(X, 2.0))
    with pytest.raises(ExportTypeError, match="nested in another way"):
        made({"b": [X]})


def test_a_dynamic_number_is_an_integer() -> None:
    counted = ow.export(lambda x, n: x + n, (X, 3), dynamic_shapes=(None, torch.export.Dim.DYNAMIC))
    torch.testing.assert_close(counted(X, 5), X + 5)
    torch.testing.assert_close(counted(X, np.int64(5)), X + 5)
    with pytest.raises(ExportTypeError, match=r"`n` is 4\.5, the model wants INT64"):
        counted(X, 4.5)


def test_the_message_shows_the_call(paired: Any) -> None:
    with pytest.raises(ExportTypeError) as caught:
        paired(X, X, scale=torch.tensor(2.0))
    assert "`program(..., ..., scale=...)`" in str(caught.value)
    assert "`program(x, (pair_0, pair_1), scale=scale)`" in str(caught.value)


def test_checks_take_the_examples_of_the_export(program: Any) -> None:
    assert program.verify().ok
    assert program.first_divergence() is None


def test_memory_before_it_is_written_is_no_divergence() -> None:
    """`empty` holds anything; ours holds zeros."""

    def filled(x: Any) -> Any:
        made = torch.empty(2, 3)
        made.new_empty(2, 3)
        made[0] = x
        made[1] = x + 1
        return made

    torch.full((2, 3), 7.0)  # likely the memory that is handed out next
    assert ow.export(filled, (torch.ones(3),)).first_divergence() is None


def test_a_module_may_ask_for_the_type_it_has() -> None:
    """torch would swap the parameters, and cannot while it captures."""

    @module_with(lambda: {"first": torch.nn.Linear(3, 3), "second": torch.nn.Linear(3, 2)})
    def Asks(self, x: Any) -> Any:
        self.first = self.first.to(x.dtype).to("cpu")
        return self.second.float()(self.first(x))

    before = torch.nn.Module.to, torch.nn.Module.float
    assert ow.export(Asks(), (torch.ones(2, 3),), verify=True)
    assert before == (torch.nn.Module.to, torch.nn.Module.float)


# -- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"wieght": torch.ones(1, 2)}, "did you mean `weight`?"),
        ({"weight": torch.ones(2, 2)}, "`weight` has shape [2, 2], the model has [1, 2]"),
        ({"weight": torch.ones(1, 2).double()}, "`weight` is DOUBLE, the model has FLOAT"),
        ({"state_dict": {"weight": torch.ones(1, 2)}}, "there is no tensor under `state_dict`"),
        (3, "an object of type int"),
        (torch.nn.Linear(2, 1), "give a state dict"),
        ("missing.safetensors", "there is no file"),
        ("bad.safetensors", "is not a safetensors file"),
        ("bad.pt", "cannot be read"),
    ],
)
def test_weights_that_do_not_fit_are_told(weights, words: str, tmp_path, monkeypatch) -> None:
    """And the model has the weights it had, those that would have fitted too."""
    monkeypatch.chdir(tmp_path)
    for name in ("bad.safetensors", "bad.pt"):
        Path(name).write_bytes(b"123")
    layer = torch.nn.Linear(2, 1)
    made = ow.export(layer, (torch.ones(1, 2),))
    if isinstance(weights, dict) and "state_dict" not in weights:
        weights = {"bias": torch.full((1,), 100.0), **weights}
    with pytest.raises(ExportValueError, match="OW825") as caught:
        made.apply_weights(weights)
    assert words in str(caught.value)
    torch.testing.assert_close(made(torch.ones(1, 2)), layer(torch.ones(1, 2)).detach())


def test_arrays_of_numpy_are_weights() -> None:
    made = ow.export(torch.nn.Linear(2, 1, bias=False), (torch.ones(1, 2),))
    made.apply_weights({"weight": np.array([[2.0, 3.0]], np.float32)})
    assert made(torch.ones(1, 2)).item() == 5.0


def test_a_model_without_numbers_is_shown_and_not_run(tmp_path: Path) -> None:
    with torch.device("meta"):
        hollow, example = torch.nn.Linear(2, 1), torch.ones(1, 2)
    made = ow.export(hollow, (example,))
    assert "Gemm" in str(made.show())
    for use in (
        lambda: made(torch.ones(1, 2)),
        lambda: made.model_proto,
        lambda: made.save(tmp_path / "m.onnx"),
        lambda: made.to_script(),
        lambda: made.verify(),
        lambda: made.initialize_inference_session(),
    ):
        with pytest.raises(ExportTypeError, match="2 weights have no data yet, first `weight`"):
            use()
    made.save(tmp_path / "m.onnx", include_initializers=False)
    inputs = [v.name for v in onnx.load(tmp_path / "m.onnx").graph.input]
    assert inputs == ["input", "weight", "bias"]


def test_a_function_is_searched_for_what_fails() -> None:
    class Bad(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x if x.sum() > 0 else (x, x)  # no way takes it

    good, bad = torch.nn.Linear(32, 32), Bad()
    found = ow.export_bisect(lambda x: bad(good(x)), (X,))
    assert [failing.path for failing in found.failing] == ["bad"]


# -- looking ---------------------------------------------------------------------------------------


def test_show_and_to_script_are_of_the_model(program: Any, tmp_path: Path) -> None:
    assert str(program.show()) == str(ow.show(program.model))
    assert program.to_script() == ow.to_script(program.model)
    written = tmp_path / "written.py"
    written.write_text(program.to_script())
    again = runpy.run_path(str(written))["make_model"]()
    (found,) = ow.run_model(again, {"x": X.numpy()})
    np.testing.assert_array_equal(found, program(X)["out"].numpy())


# -- files -----------------------------------------------------------------------------------------


def _run(path: Path) -> Any:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": X.numpy()})[0]


def test_saves_over_each_other_do_not_mix(program: Any, tmp_path: Path) -> None:
    """Every way to save over every other: the model read is the one saved last."""
    path = tmp_path / "m.onnx"
    ways = (True, "per_tensor", False, True, True, "per_tensor", None, "per_tensor")
    for n, way in enumerate(ways):
        torch.manual_seed(n)
        other = Scaled().eval()
        saved = ow.export(other, (X,))
        saved.save(path, external_data=way)
        with torch.no_grad():
            wanted = other(X)["out"]
        np.testing.assert_allclose(_run(path), wanted.numpy(), rtol=1e-5, atol=1e-6)
        onnx.checker.check_model(path)
    assert len(list(tmp_path.iterdir())) == 1 + bool(way), "the data of older models is gone"


def _files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("way", "where"),
    [
        (True, "weights"),
        (True, "model"),
        ("per_tensor", "weights"),
        ("per_tensor", "model"),
        (False, "model"),
    ],
)
def test_an_interrupted_save_leaves_what_was_there(
    program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Any, where: str
) -> None:
    path = tmp_path / "m.onnx"
    program.save(path, external_data=way)
    before = _files(tmp_path)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    if where == "weights":
        monkeypatch.setattr(saving, "write_tensor", stop)
        monkeypatch.setattr(ir_saving, "write_tensor", stop)
    else:
        monkeypatch.setattr(saving, "to_proto", stop)
    other = ow.export(Scaled().eval(), (X,)) if where == "weights" else program
    with pytest.raises(KeyboardInterrupt):
        other.save(path, external_data=way)
    monkeypatch.undo()
    assert _files(tmp_path) == before
    assert sorted(tmp_path.rglob("*.tmp")) == []
    assert other.verify().ok, "the program is as it was"


def test_a_missing_folder_is_named(program: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="the folder does not exist") as caught:
        program.save(tmp_path / "missing" / "m.onnx")
    assert caught.value.filename == str(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        program.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_weights_that_do_not_fit_into_a_model_are_told(program, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(saving, "FILE_LIMIT", 1000)
    with pytest.raises(ExportValueError, match="a model file holds 2 GB"):
        program.save(tmp_path / "m.onnx", external_data=False)
    with pytest.raises(ExportValueError, match="not a way to write weights"):
        program.save(tmp_path / "m.onnx", external_data="beside")
    program.save(tmp_path / "m.onnx")
    assert list(tmp_path.glob("m.onnx.*.data"))
