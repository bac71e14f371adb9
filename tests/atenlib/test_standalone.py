"""ATen functions by themselves: run on arrays, and emitted as functions that a model calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from onnxwright import FLOAT, AtenArgumentError, atenlib, run_model
from onnxwright.atenlib.standalone import read_type
from tests.harness.tables import each

X = np.array([[-1.5, 2.0, 0.25], [4.0, -3.0, 1.0]], np.float32)
Z = np.array([3 + 4j, -1j], np.complex64)


def call(proto: onnx.FunctionProto, feeds: list[Any], opset: int) -> list[Any]:
    """Run a model whose only node calls the function."""
    inputs = []
    for name, array in zip(proto.input, feeds, strict=True):
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        inputs.append(helper.make_tensor_value_info(name, kind, None))
    outputs = [onnx.ValueInfoProto(name=name) for name in proto.output]
    node = helper.make_node(proto.name, proto.input, proto.output, domain=proto.domain)
    graph = helper.make_graph([node], "calls", inputs, outputs)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(proto.domain, 1)]
    model = helper.make_model(graph, functions=[proto], opset_imports=imports, ir_version=10)
    returned = run_model(model, dict(zip(proto.input, feeds, strict=True)))
    return list(returned) if isinstance(returned, (list, tuple)) else [returned]


CASES: dict[str, tuple[str, list[Any], list[Any], dict[str, Any]]] = {
    # name of the case: operator, arguments with types, arguments with arrays, further ones
    "two tensors": ("aten::add.Tensor", ["FLOAT[N, 3]"] * 2, [X, X], {"alpha": 2}),
    "promotion": ("aten::add.Tensor", ["FLOAT[2, 3]", "INT64[]"], [X, np.array(3)], {}),
    "an annotation": ("aten::clamp", [FLOAT["N", 3], 0, 1.5], [X, 0, 1.5], {}),
    "a list": ("aten::cat", [["FLOAT[N, 3]", "FLOAT[M, 3]"], 0], [[X, X], 0], {}),
    "several results": ("aten::topk", ["FLOAT[N, 3]", 2], [X, 2], {"dim": -1}),
    "unknown shape of known rank": ("aten::tanh", ["FLOAT[?, ?]"], [X], {}),
    "no constants": ("aten::neg", ["FLOAT[N, 3]"], [X], {}),
}


@each("opset", [18, 23])
@each("case", CASES)
def test_a_function_computes_what_a_run_does(case: str, opset: int) -> None:
    name, types, arrays, further = CASES[case]
    entry = atenlib.find(name)
    proto = entry.to_function_proto(*types, opset_version=opset, **further)
    feeds = [a for arg in arrays for a in (arg if isinstance(arg, list) else [arg])]
    results = call(proto, [a for a in feeds if isinstance(a, np.ndarray)], opset)
    expected = entry.run(*arrays, opset_version=opset, **further)
    several = expected if isinstance(expected, (list, tuple)) else [expected]
    for ours, theirs in zip(results, several, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_a_complex_tensor_has_an_axis_more() -> None:
    entry = atenlib.find("aten::mul.Tensor")
    proto = entry.to_function_proto("COMPLEX64[N]", "COMPLEX64[N]")
    pairs = np.stack([Z.real, Z.imag], -1)
    (product,) = call(proto, [pairs, pairs], 23)
    np.testing.assert_allclose(product, np.stack([(Z * Z).real, (Z * Z).imag], -1), rtol=1e-6)
    np.testing.assert_allclose(entry.run(Z, Z), Z * Z, rtol=1e-6)


def test_names() -> None:
    entry = atenlib.find("aten::topk")
    proto = entry.to_function_proto("FLOAT[N]", 2, function_name="best", function_domain="my")
    assert (proto.domain, proto.name) == ("my", "best")
    assert list(proto.input) == ["self"]
    assert list(proto.output) == ["result_0", "result_1"]
    assert proto.doc_string == (entry.body.__doc__ or "").strip()


def test_arguments_are_checked() -> None:
    with pytest.raises(AtenArgumentError, match="there is no parameter `nobody`"):
        atenlib.find("aten::neg").to_function_proto("FLOAT[N]", nobody=1)
    with pytest.raises(AtenArgumentError, match="`other` is missing"):
        atenlib.find("aten::add.Tensor").run(X)


def test_a_parameter_may_be_called_self() -> None:
    """Schemas have a `self`, and callers may name it."""
    np.testing.assert_array_equal(atenlib.find("aten::neg").run(self=X), -X)


@each("text", ["floor", "mean", "FLOATS[2]", 3, None, "FLOAT[2"])
def test_what_is_no_type_is_a_value(text: Any) -> None:
    assert read_type(text) is None


def test_what_went_in_comes_back() -> None:
    from onnxwright.eager.tensor import wrap

    neg = atenlib.find("aten::neg")
    assert type(neg.run(X)) is np.ndarray
    assert type(neg.run(wrap(X))) is type(wrap(X))
    torch = pytest.importorskip("torch", reason="tensors of torch go in and come out")
    assert isinstance(neg.run(torch.ones(2)), torch.Tensor)
