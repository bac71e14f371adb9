"""The stages that need no values run once for a text, however often its file is loaded."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import Any

import onnx
import pytest

import onnxwright as ow
from onnxwright.converter import pipeline
from tests.harness.loading import load_file

SOURCE = """
from onnxwright import FLOAT, script, opset18 as op

SCALE = 2.0

def make(factor):
    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return x * factor + SCALE
    return f

f = make(3.0)
"""


def numbers(script: Any) -> list[float]:
    """The constants of a model, in order."""
    nodes = [n for n in script.to_model_proto().graph.node if n.op_type == "Constant"]
    return [onnx.numpy_helper.to_array(n.attribute[0].t).item() for n in nodes]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that were parsed, in order."""
    names: list[str] = []
    parse = pipeline.parse

    def counted(unit: Any, sink: Any) -> Any:
        names.append(unit.function.__name__)
        return parse(unit, sink)

    monkeypatch.setattr(pipeline, "parse", counted)
    return names


def test_a_file_loaded_anew_is_not_parsed_again(tmp_path: Path, parsed: list[str]) -> None:
    path = tmp_path / "m.py"
    path.write_text(SOURCE)
    models = [load_file(path).f.to_model_proto().SerializeToString() for _ in range(3)]
    assert parsed == ["f"]
    assert models[0] == models[1] == models[2]


def test_values_around_are_those_of_the_new_module(tmp_path: Path, parsed: list[str]) -> None:
    path = tmp_path / "m.py"
    path.write_text(SOURCE)
    module = load_file(path)
    assert numbers(module.f) == [3.0, 2.0]
    module.SCALE = 7.0
    assert numbers(module.f) == [3.0, 7.0]
    other = load_file(path)
    assert numbers(other.f) == [3.0, 2.0]
    assert numbers(other.make(5.0)) == [5.0, 2.0]
    assert numbers(module.f) == [3.0, 7.0]
    assert parsed == ["f"]
    del other.SCALE
    with pytest.raises(ow.ScriptError, match="OW201"):
        other.f.to_model_proto()
    assert numbers(module.f) == [3.0, 7.0]


def test_another_text_is_parsed(tmp_path: Path, parsed: list[str]) -> None:
    path = tmp_path / "m.py"
    path.write_text(SOURCE)
    first = load_file(path)
    assert numbers(first.f) == [3.0, 2.0]
    path.write_text(SOURCE.replace("x * factor", "x / (x * factor)").replace("3.0", "4.0"))
    edited = load_file(path)
    assert numbers(edited.f) == [4.0, 2.0]
    assert "Div" in {n.op_type for n in edited.f.to_model_proto().graph.node}
    path.write_text(SOURCE)
    assert numbers(load_file(path).f) == [3.0, 2.0]
    assert parsed == ["f", "f"]


def test_the_same_text_in_another_file_is_another(tmp_path: Path, parsed: list[str]) -> None:
    origins = []
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(SOURCE)
        model = load_file(tmp_path / name).f.to_model_proto()
        origins.append({p.value for n in model.graph.node for p in n.metadata_props})
    assert parsed == ["f", "f"]
    assert all("a.py" in text for text in origins[0])
    assert all("b.py" in text for text in origins[1])


def test_another_name_of_the_function_is_another(tmp_path: Path, parsed: list[str]) -> None:
    path = tmp_path / "m.py"
    path.write_text(SOURCE)
    module = load_file(path)
    function: FunctionType = module.f.function
    renamed = FunctionType(
        function.__code__.replace(), function.__globals__, "g", None, function.__closure__
    )
    renamed.__annotations__ = function.__annotations__
    assert module.f.to_model_proto().graph.name == "f"
    assert ow.script()(renamed).to_model_proto().graph.name == "g"
    assert parsed == ["f", "g"]


def test_errors_are_found_again_each_time(tmp_path: Path, parsed: list[str]) -> None:
    path = tmp_path / "m.py"
    path.write_text(SOURCE.replace("return x * factor + SCALE", "import os\n        return x"))
    for _ in range(2):
        with pytest.raises(ow.ScriptError, match="OW101"):
            load_file(path).f.to_model_proto()
    assert parsed == ["f", "f"]
