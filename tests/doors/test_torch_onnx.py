"""Call sites of `torch.onnx.export`, old and new, with `torch_onnx` in its place."""

from __future__ import annotations

import inspect
import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

import onnxwright as ow
from onnxwright import torch_onnx
from tests.harness.tables import each


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x: Any, scale: Any = None) -> Any:
        y = self.drop(self.linear(x))
        return y if scale is None else y * scale


X = torch.randn(2, 3)


def dims(value: onnx.ValueInfoProto) -> list[Any]:
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


# What call sites hold: arguments after the model, and what the saved model then has.
CALLS: dict[str, tuple[Any, Any]] = {
    "a tensor and a path": (
        lambda m, p: torch_onnx.export(m, X, p),
        lambda proto: dims(proto.graph.input[0]) == [2, 3],
    ),
    "the old positional order": (
        lambda m, p: torch_onnx.export(m, (X,), p, True, False),
        lambda proto: len(proto.graph.initializer) == 2,
    ),
    "dynamic_axes with names": (
        lambda m, p: torch_onnx.export(
            m,
            (X,),
            p,
            input_names=["features"],
            output_names=["scores"],
            dynamic_axes={"features": {0: "batch"}, "scores": {0: "batch"}},
        ),
        lambda proto: (
            dims(proto.graph.input[0]) == ["batch", 3]
            and dims(proto.graph.output[0]) == ["batch", 4]
        ),
    ),
    "dynamic_axes as lists, by parameter": (
        lambda m, p: torch_onnx.export(m, (X,), f=p, dynamic_axes={"x": [0]}),
        lambda proto: dims(proto.graph.input[0]) == ["x_dynamic_axes_1", 3],
    ),
    "a negative axis": (
        lambda m, p: torch_onnx.export(m, (X,), f=p, dynamic_axes={"x": {-2: "rows"}}),
        lambda proto: dims(proto.graph.input[0]) == ["rows", 3],
    ),
    "inputs by name at the end of args": (
        lambda m, p: torch_onnx.export(m, (X, {"scale": torch.ones(1)}), p),
        lambda proto: [i.name for i in proto.graph.input] == ["x", "scale"],
    ),
    "kwargs and dynamo=False": (
        lambda m, p: torch_onnx.export(m, (X,), p, kwargs={"scale": torch.ones(1)}, dynamo=False),
        lambda proto: len(proto.graph.input) == 2,
    ),
    "export_params=False": (
        lambda m, p: torch_onnx.export(m, X, p, export_params=False),
        lambda proto: not proto.graph.initializer and len(proto.graph.input) == 3,
    ),
    "keep_initializers_as_inputs": (
        lambda m, p: torch_onnx.export(m, X, p, keep_initializers_as_inputs=True),
        lambda proto: len(proto.graph.initializer) == 2 and len(proto.graph.input) == 3,
    ),
    "do_constant_folding=False, a newer opset": (
        lambda m, p: torch_onnx.export(m, X, p, do_constant_folding=False, opset_version=20),
        lambda proto: proto.opset_import[0].version == 20,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_site_gives_its_model(name: str, tmp_path: Path) -> None:
    call, holds = CALLS[name]
    torch.manual_seed(0)
    model = Net().eval()
    path = tmp_path / "net.onnx"
    program = call(model, str(path))
    proto = onnx.load(path)
    assert holds(proto)
    onnx.checker.check_model(proto, full_check=True)
    if len(proto.graph.initializer) == 2 and len(proto.graph.input) == 1:
        x = torch.randn(2 if dims(proto.graph.input[0])[0] == 2 else 5, 3)
        (got,) = ow.run_model(path, {proto.graph.input[0].name: x.numpy()})
        np.testing.assert_allclose(got, model(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert isinstance(program, torch_onnx.ONNXProgram)


def test_every_keyword_of_torch_onnx_export_is_accepted() -> None:
    theirs = inspect.signature(torch.onnx.export).parameters
    ours = inspect.signature(torch_onnx.export).parameters
    assert [n for n in theirs if n not in ours] == []


def test_a_file_object_is_written() -> None:
    buffer = io.BytesIO()
    torch_onnx.export(Net().eval(), X, buffer)
    onnx.checker.check_model(onnx.load_from_string(buffer.getvalue()), full_check=True)


def test_the_mode_is_that_of_training_and_is_put_back() -> None:
    model = Net().train()
    model.linear.eval()
    program = torch_onnx.export(model, X, training=torch.onnx.TrainingMode.EVAL)
    assert "Dropout" not in [n.op_type for n in program.model.graph]
    assert (model.training, model.linear.training, model.drop.training) == (True, False, True)
    program = torch_onnx.export(model, X, dynamo=False)
    assert "Dropout" not in [n.op_type for n in program.model.graph]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"custom_opsets": {"my": 1}}, "custom_opsets"),
        ({"autograd_inlining": False}, "autograd_inlining"),
        ({"fallback": True}, "fallback"),
        (
            {"operator_export_type": torch.onnx.OperatorExportTypes.ONNX_ATEN_FALLBACK},
            "operator_export_type",
        ),
    ],
)
def test_an_argument_without_effect_is_answered(options: dict[str, Any], name: str) -> None:
    with pytest.warns(ow.OnnxwrightWarning, match=rf"OW890.*`{name}="):
        torch_onnx.export(torch.nn.ReLU(), X, **options)


def test_artifacts_are_written(tmp_path: Path) -> None:
    torch_onnx.export(
        Net().eval(), X, report=True, dump_exported_program=True, artifacts_dir=tmp_path / "new"
    )
    names = sorted(p.name for p in (tmp_path / "new").iterdir())
    assert names == ["onnxwright_export.md", "onnxwright_export.pt2"]


@each(
    "options",
    [
        {"dynamic_axes": {"x": {0: "n"}}, "dynamic_shapes": {"x": {0: "n"}}},
        {"dynamic_axes": {"x": 0}},
        {"training": 3},
    ],
)
def test_arguments_that_cannot_be_used_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ow.ExportError, match="OW825"):
        torch_onnx.export(Net().eval(), X, **options)


def test_names_of_torch_onnx_are_there() -> None:
    assert torch_onnx.TrainingMode is torch.onnx.TrainingMode
    assert torch_onnx.ops is torch.onnx.ops
    with pytest.raises(AttributeError, match="custom_translation_table"):
        torch_onnx.symbolic_opset11  # noqa: B018


@each(
    "line",
    [
        "from onnxwright.torch_onnx import symbolic_opset9",
        "from onnxwright.torch_onnx.symbolic_opset11 import relu",
        "import onnxwright.torch_onnx.symbolic_opset13 as sym",
        "import onnxwright.torch_onnx.symbolic_registry",
        "from onnxwright.torch_onnx import JitScalarType",
    ],
)
def test_an_import_of_what_is_not_here_says_what_to_use(line: str) -> None:
    with pytest.raises(ImportError, match=r"custom_translation_table|onnxwright\.DType"):
        exec(line, {})
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        exec("import onnxwright.torch_onnx.no_such_module", {})
    with pytest.raises(ImportError, match="cannot import name"):
        exec("from onnxwright.torch_onnx import no_such_name", {})


@pytest.mark.parametrize(
    "name", ["example_outputs", "enable_onnx_checker", "strip_doc_string", "export_raw_ir", "aten"]
)
def test_an_argument_that_torch_has_removed_is_answered(name: str) -> None:
    with pytest.warns(ow.OnnxwrightWarning, match=rf"OW890.*`{name}="):
        torch_onnx.export(torch.nn.ReLU(), X, **{name: True})


@each(("name", "function"), [("relu", len), ("a::b", None), ("a b::c", len), ("::", len)])
def test_symbolic_functions_that_cannot_be_registered(name: str, function: Any) -> None:
    with pytest.raises(ow.ExportError, match="OW825"):
        torch_onnx.register_custom_op_symbolic(name, function, 9)


NOT_OURS = sorted(
    set(inspect.signature(torch.onnx.export).parameters)
    - set(inspect.signature(ow.export).parameters)
)


@each("name", NOT_OURS)
def test_arguments_of_torch_onnx_are_answered_by_export(name: str) -> None:
    with pytest.raises(ow.ExportError, match=rf"OW825.*`{name}`(?s:.*)torch_onnx"):
        ow.export(Net().eval(), (X,), **{name: None})


def test_an_argument_of_nobody_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'opsett'"):
        ow.export(Net().eval(), (X,), opsett=18)
    for export in (ow.export, ow.torch_onnx.export):
        with pytest.raises(TypeError, match="did you mean 'dynamic_shapes'"):
            export(Net().eval(), (X,), dynamic_shape=None)


def test_the_guide_has_every_argument() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "torch_onnx.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    written = {name.strip(" `") for row in rows for name in row.split(",")}
    parameters = set(inspect.signature(torch.onnx.export).parameters)
    assert parameters - written == set()


class Cached(torch.nn.Module):
    """A cache stands before the mask, as in GPT-2, Falcon, Bloom and OPT."""

    def forward(self, ids: Any, past: Any = None, mask: Any = None) -> Any:
        y = ids * 2.0
        if past is not None:
            y = y + sum(k.sum() + v.sum() for k, v in past)
        return y if mask is None else y * mask


PAST = [(torch.ones(1, 2), torch.ones(1, 2))]
SIZES = {"ids": {1: "n"}, "mask": {1: "n"}, "past_key": {0: "batch"}}


@pytest.mark.parametrize(
    "names",
    [
        ["ids", "mask", "past_key", "past_value"],  # as the inputs are given
        ["ids", "past_key", "past_value", "mask"],  # as the parameters stand
    ],
)
@pytest.mark.parametrize("as_dict", [False, True])
def test_names_reach_their_inputs_where_a_cache_stands_before_the_mask(
    names: list[str], as_dict: bool
) -> None:
    named = {"mask": torch.ones(1, 3), "past": PAST}
    arguments = ((torch.ones(1, 3), named), {}) if as_dict else ((torch.ones(1, 3),), named)
    program = torch_onnx.export(
        Cached(), arguments[0], kwargs=arguments[1], input_names=names, dynamic_axes=SIZES
    )
    shapes = {v.name: [str(n) for n in v.shape] for v in program.model.graph.inputs}
    assert shapes == {
        "ids": ["1", "n"], "mask": ["1", "n"], "past_key": ["batch", "2"], "past_value": ["1", "2"],
    }  # fmt: skip


def test_names_that_are_new_follow_the_inputs_as_they_are_given() -> None:
    named = {"mask": torch.ones(1, 4), "past": PAST}
    program = torch_onnx.export(
        Cached(), (torch.ones(1, 4),), kwargs=named, input_names=["a", "b", "c", "d"]
    )
    assert {v.name: v.shape[1] for v in program.model.graph.inputs} == {
        "a": 4,
        "b": 4,
        "c": 2,
        "d": 2,
    }


def test_inputs_that_are_none_may_be_named() -> None:
    x = torch.ones(1, 3)
    for names in (["ids", "past", "mask"], ["ids", "mask"]):
        program = torch_onnx.export(
            Cached(), (x, None, x), input_names=names, dynamic_axes=SIZES_OF_IDS
        )
        assert [v.name for v in program.model.graph.inputs] == ["ids", "mask"]


SIZES_OF_IDS = {"ids": {1: "n"}, "mask": {1: "n"}}


def test_the_name_of_another_input_is_an_error() -> None:
    x = torch.ones(1, 3)
    with pytest.raises(ow.errors.ExportValueError, match="`mask` is given to the input `ids`"):
        torch_onnx.export(Cached(), (x, None, x), input_names=["mask", "ids"])


@pytest.mark.parametrize(
    ("key", "names"), [("maks", None), ("past", None), ("ids", ["x"]), ("y", None), ("x", ["a"])]
)
def test_axes_of_no_input_are_an_error(key: str, names: Any) -> None:
    args = (torch.ones(1, 3), PAST)
    call = {"input_names": names, "dynamic_axes": {key: {1: "n"}}}
    if key == "ids":  # the parameter still has its name
        program = torch_onnx.export(Cached(), args, **call)
        assert str(program.model.graph.inputs[0].shape[1]) == "n"
        return
    with pytest.raises(ow.errors.ExportValueError, match=f"`{key}` is not the name of an input"):
        torch_onnx.export(Cached(), args, **call)
    if key == "y":
        assert torch_onnx.export(Cached(), args, output_names="y", **call)


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_versions_of_domains_in_one_dict(domain: str) -> None:
    """The standard opset, and those that symbolic functions name."""
    torch_onnx.register_custom_op_symbolic(
        "aten::relu", lambda g, x: g.op("my.domain::Ramp", x).setType(x.type()), 9
    )
    try:
        model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
        program = torch_onnx.export(model, X, opset_version={domain: 20, "my.domain": 3})
    finally:
        torch_onnx.unregister_custom_op_symbolic("aten::relu", 9)
    assert program.model.opset_imports == {"": 20, "my.domain": 3}


def test_opset_version_none_is_the_default() -> None:
    """In both exporters' functions; a dict belongs to that of torch."""
    for export in (ow.export, torch_onnx.export):
        program = export(torch.nn.ReLU(), (X,), opset_version=None)
        assert program.model.opset_imports[""] == ow.opset.DEFAULT_OPSET_VERSION
    with pytest.raises(ow.errors.ExportValueError, match="versions of other domains come with"):
        ow.export(torch.nn.ReLU(), (X,), opset_version={"": 20})  # type: ignore[arg-type]


@pytest.mark.skipif(
    not hasattr(torch.onnx, "ExportableModule"), reason="this PyTorch has no ExportableModule"
)
@pytest.mark.parametrize("base", [torch.onnx, torch_onnx], ids=["torch.onnx", "torch_onnx"])
def test_exportable_modules(base: Any) -> None:
    """They bring inputs, names and dynamic shapes; what is given instead comes first."""

    class Doubled(base.ExportableModule):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x * 2

        def example_arguments(self) -> Any:
            return (X,), None

        def dynamic_shapes(self) -> Any:
            return ({0: "batch"},)

        def input_names(self) -> Any:
            return ("features",)

        def output_names(self) -> Any:
            return ("doubled",)

    calls = [ow.export(Doubled()), torch_onnx.export(Doubled())]
    if base is torch_onnx:
        calls.append(Doubled().to_onnx(opset_version=20))
        assert calls[-1].model.opset_imports[""] == 20
    for program in calls:
        graph = program.model_proto.graph
        assert [graph.input[0].name, graph.output[0].name] == ["features", "doubled"]
        assert dims(graph.input[0]) == ["batch", 3]
    program = ow.export(Doubled(), output_names=["twice"])
    assert program.model_proto.graph.output[0].name == "twice"
    program = ow.export(Doubled(), (X,))
    assert dims(program.model_proto.graph.input[0]) == [2, 3]


@pytest.mark.parametrize("large", [False, True])
def test_an_initializer_makes_the_session(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the bytes of the model, or of its path; calls go through what it makes."""
    import onnxruntime

    from onnxwright.exporter.program import saving

    if large:
        monkeypatch.setattr(saving, "FILE_LIMIT", 10)
    model, sources = Net().eval(), []

    def initializer(source: Any) -> Any:
        sources.append(source)
        return onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])

    program = ow.export(model, (X,))
    session = program.initialize_inference_session(initializer=initializer)
    assert program.initialize_inference_session(initializer) is not session
    torch.testing.assert_close(program(X), model(X))
    assert [type(source) for source in sources] == [str if large else bytes] * 2
    with pytest.raises(ow.errors.ExportValueError, match="`initializer` is given as well"):
        program.initialize_inference_session(initializer, session_options=1)
    with pytest.raises(ow.errors.EagerError, match="did not give an InferenceSession"):
        program.initialize_inference_session(lambda source: None)
