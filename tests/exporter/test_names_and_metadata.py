"""Names of inputs, outputs and sizes; what is noted on nodes; custom lowerings; same bytes."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from torch import nn, randn
from torch.export import Dim

import onnxwright as ow
from onnxwright import errors
from onnxwright.diagnostics.origins import span_of_origin
from tests.exporter.programs import check, operators
from tests.harness.modules import module_with


@module_with(lambda: {"body": nn.Sequential(nn.Linear(3, 4), nn.ReLU()), "head": nn.Linear(4, 2)})
def Net(self, x: Any, y: Any) -> Any:
    """Two linear layers in a submodule."""
    z = self.body(x)
    return self.head(z) + y, z


def _inputs() -> tuple[Any, Any]:
    return randn(2, 3), randn(2, 2)


def names_of(program: Any) -> tuple[list[str], list[str]]:
    """The names of inputs and outputs."""
    graph = program.model.graph
    return [v.name for v in graph.inputs], [v.name for v in graph.outputs]


def test_names_of_inputs_are_those_of_the_parameters() -> None:
    """And initializers have the module's names."""
    program = check(Net(), _inputs())
    assert names_of(program)[0] == ["x", "y"]
    assert set(program.model.graph.initializers) >= {"body.0.weight", "head.bias"}


def test_names_are_given() -> None:
    """All, or the first ones."""
    program = check(Net(), _inputs(), input_names=["a", "b"], output_names=["c", "d"])
    assert names_of(program) == (["a", "b"], ["c", "d"])
    program = check(Net(), _inputs(), input_names=["a"], output_names=["c"])
    assert names_of(program)[0] == ["a", "y"]
    assert names_of(program)[1][0] == "c"


@pytest.mark.parametrize(
    "names",
    [["relu", "linear"], ["body.0.weight", "head.bias"], ["add", "relu"], ["y", "x"]],
    ids=",".join,
)
def test_names_that_inner_values_have_make_a_valid_model(names: list[str]) -> None:
    """The inner value gets another."""
    program = check(Net(), _inputs(), input_names=names)
    assert names_of(program)[0] == names
    outputs = [f"{n}_out" if n in "xy" else n for n in names]
    program = check(Net(), _inputs(), output_names=outputs)
    assert names_of(program)[1] == outputs


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"input_names": ["a", "a"]}, "occurs twice"),
        ({"input_names": ["a", "b", "c"]}, "3 names for 2 values"),
        ({"output_names": ["a", "b", "c"]}, "3 names for 2 values"),
        ({"output_names": ["x"]}, "is an input"),
    ],
)
def test_names_that_cannot_be_are_said(options: dict[str, Any], match: str) -> None:
    """Twice, too many, taken."""
    with pytest.raises(errors.ExportValueError, match=match):
        ow.export(Net(), _inputs(), **options)


def test_nested_inputs_have_names_of_their_places() -> None:
    """Unlike each other and valid."""

    def f(d: Any) -> Any:
        return d["a"] + d["b"][0]

    inputs, _ = names_of(check(f, ({"a": randn(2), "b": [randn(2)]},)))
    assert inputs == ["d_a", "d_b_0"]


def test_exporting_twice_gives_the_same_bytes() -> None:
    """Symbols of torch that count up are not in the model."""
    torch.manual_seed(0)
    module, inputs = Net(), _inputs()
    for dynamic in (None, {"x": {0: "b"}, "y": {0: "b"}}, {"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}}):
        first, second = (
            ow.export(module, inputs, dynamic_shapes=dynamic).model_proto.SerializeToString(
                deterministic=True
            )
            for _ in range(2)
        )
        assert first == second


def test_full_metadata_names_modules_nodes_and_lines() -> None:
    """As torch.onnx writes them."""
    program = check(Net(), _inputs())
    node = next(n for n in program.model.graph if n.op_type == "Gemm")
    props = node.metadata_props
    scopes = ast.literal_eval(props["pkg.torch.onnx.name_scopes"])
    classes = ast.literal_eval(props["pkg.torch.onnx.class_hierarchy"])
    assert scopes == ["", "body", "body.0", "linear"]
    assert classes[-2:] == ["torch.nn.modules.linear.Linear", "aten.linear.default"]
    assert len(classes) == len(scopes)
    assert "aten.linear.default" in props["pkg.torch.onnx.fx_node"]
    assert "test_names_and_metadata" in props["pkg.torch.onnx.stack_trace"]
    assert "body" in props["namespace"]
    held = program.model.graph.initializers["head.bias"].metadata_props
    assert held["pkg.torch.export.graph_signature.InputSpec.kind"] == "PARAMETER"


def test_metadata_has_no_addresses() -> None:
    """Python writes a function as text with the place of its object."""
    model = module_with(dict)(lambda self, x, y: x[: torch.sym_min(len(x), len(y))] + 1)()
    sizes = {"x": {0: Dim("n")}, "y": {0: Dim("m")}}
    program = ow.export(model, (torch.ones(4), torch.ones(3)), dynamic_shapes=sizes)
    texts = [text for node in program.model.graph for text in node.metadata_props.values()]
    assert any("sym_min" in text for text in texts)
    assert not any(" at 0x" in text for text in texts)


def _decides(x: Any) -> Any:
    return x + 1 if x.sum() > 0 else x - 1


@ow.script()
def _twice(x: ow.FLOAT[...]) -> ow.FLOAT[...]:
    y = x + x
    return y


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (Net(), {}),
        (Net(), {"export_modules_as_functions": True}),
        (Net(), {"custom_translation_table": {"aten::relu": _twice}}),
        (Net(), {"metadata": "short"}),
        (_decides, {"capture": "source"}),
    ],
    ids=["plain", "functions", "a script", "short", "decisions"],
)
def test_a_model_names_no_folder_of_the_machine(
    model: Any, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are named below the folders that Python imports from; messages still find the lines."""
    monkeypatch.chdir(tmp_path)
    inputs = _inputs() if isinstance(model, Net) else (randn(2),)
    program = ow.export(model, inputs, **options)
    program.save("model.onnx", external_data=True)
    data = program.model_proto.SerializeToString() + Path("model.onnx").read_bytes()
    here = Path(__file__)
    for path in (here.parent, Path(torch.__file__).parent, Path(sys.prefix), Path.home(), tmp_path):
        assert str(path).encode() not in data
    assert here.name.encode() in data or options == {"metadata": "short"}
    nodes = [n for n in program.model.graph.all_nodes() if "onnxwright.origin" in n.metadata_props]
    places = [span_of_origin(node.metadata_props["onnxwright.origin"]) for node in nodes]
    assert str(here) in {place.file for place in places if place is not None}


def test_short_metadata_names_modules_only() -> None:
    """No stacks, no nodes."""
    program = check(Net(), _inputs(), metadata="short")
    node = next(n for n in program.model.graph if n.op_type == "Gemm")
    assert "body" in node.metadata_props["namespace"]
    assert not [k for k in node.metadata_props if k.startswith("pkg.torch.onnx.stack")]


def test_no_metadata_is_nothing() -> None:
    """`off` is what the model is without."""
    program = check(Net(), _inputs(), metadata="off")
    assert not any(
        key.startswith(("pkg.torch", "namespace"))
        for node in program.model.graph
        for key in node.metadata_props
    )


def test_metadata_changes_no_node() -> None:
    """Only what is beside."""
    counts = [operators(check(Net(), _inputs(), metadata=m)) for m in ("full", "short", "off")]
    assert counts[0] == counts[1] == counts[2]


def test_a_lowering_into_an_unknown_domain_works_without_a_schema() -> None:
    """The node and its domain are in the model; torch says type and shape."""
    domain = ow.Opset("my.domain", 3)

    def relu(op: Any, self: Any) -> Any:
        return domain.FancyRelu(self, slope=2.0)

    program = ow.export(
        Net(), _inputs(), custom_translation_table={torch.ops.aten.relu.default: relu}
    )
    node = next(n for n in program.model.graph if n.op_type == "FancyRelu")
    assert node.domain == "my.domain"
    assert program.model.opset_imports["my.domain"] == 3
    assert node.attributes["slope"].as_float() == 2.0
    onnx.checker.check_model(program.model_proto)


def test_functions_of_modules_have_the_domain_and_name_that_are_given() -> None:
    class Pair(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
            self.act, self.end = torch.nn.ReLU(), torch.nn.Tanh()

        def forward(self, x: Any) -> Any:
            return self.end(self.act(self.b(self.act(self.a(x)))))

    model, x = Pair().eval(), torch.randn(2, 3)
    names = {torch.nn.Linear: "my.domain::Dense", torch.nn.ReLU: ("acts", "Positive")}
    program = ow.export(model, (x,), export_modules_as_functions={**names, torch.nn.Tanh: True})
    proto = program.model_proto
    assert sorted((f.domain, f.name) for f in proto.functions) == [
        ("acts", "Positive"), ("my.domain", "Dense"), ("torch.nn.modules.activation", "Tanh")
    ]  # fmt: skip
    assert {"acts", "my.domain"} <= {o.domain for o in proto.opset_import}
    torch.testing.assert_close(program(x), model(x))
    for wrong in ("Dense", ("d",), ("d", 1), ("", "n"), None):
        with pytest.raises(ow.ExportError, match=r"OW825.*is not the name of a function"):
            ow.export(model, (x,), export_modules_as_functions={torch.nn.Linear: wrong})
    with pytest.raises(ow.ExportError, match=r"OW825.*is not a class"):
        ow.export(model, (x,), export_modules_as_functions={"Linear": "d::n"})
