"""Models saved as `.onnxtxt`: what is read back is the same bit by bit, or nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxwright as ow
from onnxwright.cli.main import main
from onnxwright.errors import ModelError
from tests.harness.oldest import Limit
from tests.harness.tables import each

SIX_DIGITS = Limit("onnx", "1.23", "its printer writes six digits of a number", ())


def with_tensor(tensor: TensorProto, value: Any = 1.5) -> onnx.ModelProto:
    """A tensor as initializer, and as attribute in a branch, beside another attribute."""
    constant = helper.make_node("Constant", [], ["c"], value=tensor)
    own = helper.make_node("Own", ["c"], ["d"], domain="own", value=value)
    end = helper.make_tensor_value_info("d", tensor.data_type, ["K"])
    branch = helper.make_graph([constant, own], "branch", [], [end])
    choice = helper.make_node("If", ["b"], ["y"], then_branch=branch, else_branch=branch)
    b = helper.make_tensor_value_info("b", TensorProto.BOOL, [])
    y = helper.make_tensor_value_info("y", tensor.data_type, ["K"])
    tensor.name = "w"
    graph = helper.make_graph([choice], "g", [b], [y], [tensor])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def of_array(array: Any) -> onnx.ModelProto:
    return with_tensor(numpy_helper.from_array(np.asarray(array), "w"))


def of_texts(*texts: bytes) -> onnx.ModelProto:
    return with_tensor(helper.make_tensor("w", TensorProto.STRING, [len(texts)], texts), [*texts])


def of_values(*values: float) -> onnx.ModelProto:
    zero = numpy_helper.from_array(np.zeros(2, np.float32), "w")
    return with_tensor(zero, values if len(values) > 1 else values[0])


SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.1, 1 / 3]
PAYLOAD = np.array([0x7FC00001], np.uint32).view(np.float32)
# The second entry: whether the newest onnx writes it exactly.
CASES: dict[str, tuple[onnx.ModelProto, bool]] = {
    "float32": (of_array(np.float32([*SPECIAL, 3.4e38, 1e-45, 16777217.0])), True),
    "float64": (of_array(np.float64([*SPECIAL, 5e-324, 1.7976931348623157e308])), True),
    "float16": (of_array(np.float16([*SPECIAL, 65504, 6e-8])), True),
    "bfloat16": (of_array(np.array([*SPECIAL, 3e38], ml_dtypes.bfloat16)), True),
    "float8": (of_array(np.array([np.nan, -0.0, 0.1, 448], ml_dtypes.float8_e4m3fn)), True),
    "int4": (of_array(np.array([-8, 7, 1], ml_dtypes.int4)), False),
    "int64": (of_array(np.int64([2**63 - 1, -(2**63)])), True),
    "uint64": (of_array(np.uint64([2**64 - 1, 2**53 + 1])), True),
    "int8": (of_array(np.int8([-128, 127])), True),
    "bool": (of_array(np.array([True, False])), True),
    "complex64": (of_array(np.complex64([1 + 2j])), False),
    "a scalar": (of_array(np.float32(0.5)), True),
    "no elements": (of_array(np.zeros((0, 3), np.float32)), True),
    "a NaN with a payload": (of_array(PAYLOAD), False),
    "texts": (of_texts(b"a", b"", b'q"q', b"n\nn", rb"b\b", "\u00e4".encode()), True),
    "bytes": (of_texts(b"\xff\xfe"), False),
    "a NUL": (of_texts(b"a\0b"), False),
    "a float attribute": (of_values(1 / 3), True),
    "a float attribute of 1": (of_values(1.0), True),
    "a float attribute of -0": (of_values(-0.0), True),
    "float attributes": (of_values(*np.float32([*SPECIAL, 3.4e38, 1e-45]).tolist()), True),
    "int attributes": (of_values(2**63 - 1, -(2**63)), True),
}  # fmt: skip


def held(model: onnx.ModelProto) -> list[tuple[Any, ...]]:
    """The bits of an initializer and of the attributes of the nodes in the branches."""
    bits: list[tuple[Any, ...]] = [bits_of(t) for t in model.graph.initializer]
    for branch in model.graph.node[0].attribute:
        constant, own = branch.g.node
        (tensor,), (value,) = constant.attribute, own.attribute
        floats = np.array([value.f, *value.floats], np.float32).tobytes()
        bits.append((*bits_of(tensor.t), value.type, floats))
        bits.append((value.i, value.s, *value.ints, *value.strings))
    return bits


def bits_of(tensor: TensorProto) -> tuple[Any, ...]:
    array = numpy_helper.to_array(tensor)
    data = list(tensor.string_data) or array.tobytes()
    return tensor.data_type, tuple(tensor.dims), data


@each("name", list(CASES))
def test_text_is_exact_or_refused(name: str, tmp_path: Path) -> None:
    model, exact = CASES[name]
    path = tmp_path / f"{name}.onnxtxt"
    before = set(tmp_path.iterdir())
    refusal: ModelError | None = None
    try:
        ow.save(model, path)
    except ModelError as error:
        refusal = error
    if refusal is None:
        assert exact
        assert held(onnx_ir.to_proto(ow.load(path))) == held(model)
    else:
        assert refusal.diagnostic.code == ("OW741" if name == "bytes" else "OW754")
        assert not exact or SIX_DIGITS.holds()
        assert set(tmp_path.iterdir()) == before


def test_a_file_is_replaced_only_by_an_exact_one(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.onnxtxt"
    path.write_text("before", encoding="utf-8")
    with pytest.raises(ModelError, match=r"(?s)OW754.*tensor `w`.*`\.json`"):
        ow.save(CASES["a NaN with a payload"][0], path)
    onnx.save(CASES["complex64"][0], tmp_path / "m.onnx")
    assert main(["remove-unused", "m.onnx", "-o", "m.onnxtxt"]) != 0
    assert "OW754" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "before"


def test_descriptions_alone_may_be_lost(tmp_path: Path) -> None:
    model = of_values(1.5)
    node = model.graph.node[0]
    node.doc_string = "words"
    node.metadata_props.add(key="k", value="v")
    model.graph.node[0].name = "kept"
    path = ow.save(model, tmp_path / "m.onnxtxt")
    assert [n.name for n in ow.load(path).graph] == ["kept"]
