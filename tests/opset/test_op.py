"""How calls of operators are read, and how wrong ones are told."""

from __future__ import annotations

import copy
import enum
import inspect
import pickle
import pydoc
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

from onnxwright.errors import OnnxwrightError
from onnxwright.opset import Op, Opset, opset1, opset11, opset13, opset18, set_dispatcher
from onnxwright.opset.op import BoundCall
from onnxwright.types import FLOAT, DType, Tensor
from onnxwright.types.kinds import AttrKind
from onnxwright.types.roles import AttributeReference, BackendValue
from tests.harness.tables import each

op = opset18
custom = Opset("my.domain", 1)


class TensorLike(Tensor):
    """A value of a graph or of an eager run."""


class GraphLike(BackendValue):
    """A value without an element type."""


class DuckTensor:
    dtype = DType.FLOAT
    shape = (1,)


class Color(enum.Enum):
    RED = "red"


class Text(str):
    __slots__ = ()


REF = AttributeReference("axis", AttrKind.INT)
VALUE = TensorLike()
PROTO = onnx.numpy_helper.from_array(np.zeros(2, np.float32))


def call(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


BOUND: list[tuple[Op, tuple[tuple[Any, ...], dict[str, Any]], tuple[Any, ...], dict[str, Any]]] = [
    (op.Add, call("a", "b"), ("a", "b"), {}),
    (op.Add, call(A="a", B="b"), ("a", "b"), {}),
    (op.Add, call("a", B="b"), ("a", "b"), {}),
    (op.Clip, call("x"), ("x",), {}),
    (op.Clip, call("x", None, None), ("x",), {}),
    (op.Clip, call("x", None, "m"), ("x", None, "m"), {}),
    (op.Clip, call("x", max="m"), ("x", None, "m"), {}),
    (op.Clip, call("x", max=None, min="m"), ("x", "m"), {}),
    (op.Concat, call("a", "b", "c", axis=-1), ("a", "b", "c"), {"axis": -1}),
    (op.Concat, call(inputs=["a", "b"], axis=0), ("a", "b"), {"axis": 0}),
    (op.Loop, call(None, "c", body=REF), (None, "c"), {"body": REF}),
    (op.Loop, call(None, None, "x", body=REF), (None, None, "x"), {"body": REF}),
    (op.Loop, call("n", v_initial=["x", "y"], body=REF), ("n", None, "x", "y"), {"body": REF}),
    (op.Cast, call("x", 1), ("x",), {"to": 1}),
    (opset13.Unsqueeze, call("x", "axes"), ("x", "axes"), {}),
    (opset11.Unsqueeze, call("x", [0, 1]), ("x",), {"axes": [0, 1]}),
    (op.Softmax, call("x", axis=None), ("x",), {}),
    (op.ArgMax, call("x", 1, 0), ("x",), {"axis": 1, "keepdims": 0}),
    (opset1.Split, call("x", "sizes", split=[1, 2]), ("x", "sizes"), {"split": [1, 2]}),
    (op.Constant, call(value_float=1), (), {"value_float": 1.0}),
    (custom.Foo, call("a", None, k=1, s="t", none=None), ("a",), {"k": 1, "s": "t"}),
    # INT
    (op.Cast, call("x", to=DType.FLOAT), ("x",), {"to": 1}),
    (op.Cast, call("x", to=FLOAT), ("x",), {"to": 1}),
    (op.Cast, call("x", to=FLOAT["N"]), ("x",), {"to": 1}),
    (op.Cast, call("x", to=np.float32), ("x",), {"to": 1}),
    (op.Cast, call("x", to=np.dtype("int64")), ("x",), {"to": 7}),
    (op.Cast, call("x", to=onnx.TensorProto.INT64), ("x",), {"to": 7}),
    (op.Softmax, call("x", axis=True), ("x",), {"axis": 1}),
    (op.Softmax, call("x", axis=np.int64(2)), ("x",), {"axis": 2}),
    (op.Softmax, call("x", axis=np.array(2)), ("x",), {"axis": 2}),
    (op.Softmax, call("x", axis=np.bool_(True)), ("x",), {"axis": 1}),
    (op.Softmax, call("x", axis=REF), ("x",), {"axis": REF}),
    # FLOAT
    (op.Elu, call("x", alpha=2), ("x",), {"alpha": 2.0}),
    (op.Elu, call("x", alpha=np.float16(0.5)), ("x",), {"alpha": 0.5}),
    (op.Elu, call("x", alpha=np.array(0.5)), ("x",), {"alpha": 0.5}),
    (op.Elu, call("x", alpha=DType.BFLOAT16.numpy.type(0.5)), ("x",), {"alpha": 0.5}),
    (op.Elu, call("x", alpha=float("inf")), ("x",), {"alpha": float("inf")}),
    (op.Elu, call("x", alpha=REF), ("x",), {"alpha": REF}),
    # STRING
    (op.DepthToSpace, call("x", blocksize=2, mode=b"DCR"), ("x",), {"blocksize": 2, "mode": "DCR"}),
    (op.Pad, call("x", "p", mode=Color.RED), ("x", "p"), {"mode": "red"}),
    (op.Pad, call("x", "p", mode=Text("edge")), ("x", "p"), {"mode": "edge"}),
    (op.Pad, call("x", "p", mode=REF), ("x", "p"), {"mode": REF}),
    (op.Constant, call(value_string=b"\xff"), (), {"value_string": b"\xff"}),
    # lists
    (op.Transpose, call("x", perm=(1, 0)), ("x",), {"perm": [1, 0]}),
    (op.Transpose, call("x", perm=np.array([1, 0])), ("x",), {"perm": [1, 0]}),
    (op.Transpose, call("x", perm=range(2)), ("x",), {"perm": [0, 1]}),
    (op.Transpose, call("x", perm=[np.int32(1), 0]), ("x",), {"perm": [1, 0]}),
    (op.Transpose, call("x", perm=[]), ("x",), {"perm": []}),
    (op.Transpose, call("x", perm=REF), ("x",), {"perm": REF}),
    (op.Transpose, call("x", perm=[REF, 0]), ("x",), {"perm": [REF, 0]}),
    (op.Constant, call(value_floats=[1, 0.5]), (), {"value_floats": [1.0, 0.5]}),
    (op.Constant, call(value_strings=["a", b"b"]), (), {"value_strings": ["a", "b"]}),
    # left as given
    (op.Constant, call(value=PROTO), (), {"value": PROTO}),
    (op.If, call("c", then_branch=len, else_branch=1), ("c",), {"then_branch": len, "else_branch": 1}),  # noqa: E501
]  # fmt: skip


TENSORS = [
    (3, np.array(3, np.int64)),
    (1.5, np.array(1.5, np.float32)),
    (True, np.array(True)),
    ([1, 2], np.array([1, 2], np.int64)),
    ([1, 0.5], np.array([1, 0.5], np.float32)),
    (((1,), (2,)), np.array([[1], [2]], np.int64)),
    ([], np.array([], np.float32)),
    (["a", "b"], np.array(["a", "b"], object)),
    (np.float16(2), np.array(2, np.float16)),
]


@each(("value", "array"), TENSORS)
def test_numbers_given_as_a_tensor_are_one(value: Any, array: Any) -> None:
    """The same array for eager calls, scripts and builders."""
    bound = op.Constant.bind((), {"value": value}).attributes["value"]
    assert (bound.dtype, bound.shape, bound.tolist()) == (array.dtype, array.shape, array.tolist())


@each("value", [{}, object(), [1, "a"], [[1], [1, 2]], [None], 2**63, [10**30]])
def test_what_is_no_tensor_is_refused(value: Any) -> None:
    with pytest.raises(OnnxwrightError, match=r"OW51[123]"):
        op.Constant.bind((), {"value": value})


@each(("which", "arguments", "inputs", "attributes"), BOUND)
def test_bind(
    which: Op, arguments: Any, inputs: tuple[Any, ...], attributes: dict[str, Any]
) -> None:
    args, kwargs = arguments
    bound = which.bind(args, kwargs)
    assert bound == BoundCall(which, inputs, attributes, None, None)
    for name, value in attributes.items():
        assert type(bound.attributes[name]) is type(value)
    assert which.bind(list(args), dict(kwargs)) == bound


def test_reserved_keywords() -> None:
    bound = op.Split.bind(("x",), {"num_outputs": 3, "_outputs": 3, "_name": "cut"})
    assert (bound.outputs, bound.name) == (3, "cut")
    assert custom.Foo.bind((), {"_outputs": 2, "_name": None, "a": 1}) == BoundCall(
        custom.Foo, (), {"a": 1}, 2, None
    )
    assert op.Add.bind("ab", {"_outputs": None}).outputs is None


def test_binding_does_not_change_what_it_is_given() -> None:
    args: list[Any] = ["x", None]
    op.Clip.bind(args)
    assert args == ["x", None]


WRONG: list[tuple[Op, tuple[tuple[Any, ...], dict[str, Any]], str, str]] = [
    (op.Add, call("a", "b", "c"), "OW505", "`Add` takes at most 2 inputs, 3 were given"),
    (op.Cast, call("a", 1, 2), "OW505", "at most 1 input and 1 attribute"),
    (op.Softmax, call("a", VALUE), "OW505", "takes at most 1 input, 2 were given"),
    (op.Add, call("a"), "OW506", "needs the input `B`"),
    (op.Add, call(B="b"), "OW506", "needs the input `A`"),
    (op.Add, call(None, "b"), "OW506", "needs the input `A`"),
    (op.Add, call("a", None), "OW506", "needs the input `B`"),
    (op.Concat, call(axis=0), "OW507", "needs at least 1 input, 0 were given"),
    (op.Concat, call("a", None, "b", axis=0), "OW506", "needs the input `inputs[1]`"),
    (op.Cast, call("a", too=1), "OW508", "did you mean `to`?"),
    (op.Softmax, call("a", dim=1), "OW508", "no input or attribute `dim`"),
    (op.Softmax, call("a", Axis=1), "OW508", "did you mean `axis`?"),
    (op.Add, call("a", "b", A="c"), "OW509", "given `A` twice"),
    (op.Cast, call("a", 1, to=1), "OW509", "given `to` twice"),
    (op.Concat, call("a", inputs=["b"], axis=0), "OW509", "given `inputs` twice"),
    (op.Concat, call("a"), "OW510", "needs the attribute `axis: int`"),
    (op.Concat, call("a", axis=None), "OW510", "needs the attribute `axis: int`"),
    (op.Softmax, call("a", axis=1.5), "OW511", "is `int`, not float `1.5`"),
    (op.Softmax, call("a", axis="1"), "OW511", "not str `'1'`"),
    (op.Softmax, call("a", axis=[1]), "OW511", "not list `[1]`"),
    (op.Softmax, call("a", axis=np.zeros(2)), "OW511", "an array of float64 with shape (2,)"),
    (op.Cast, call("a", to=float), "OW511", "the class `float`"),
    (op.Cast, call("a", to=Tensor), "OW511", "the class `Tensor`"),
    (op.Cast, call("a", to=np.datetime64), "OW511", "the class `datetime64`"),
    (op.Elu, call("a", alpha="1"), "OW511", "is `float`, not str"),
    (op.Elu, call("a", alpha=1j), "OW511", "complex"),
    (op.Pad, call("a", "p", mode=1), "OW511", "is `str`, not int `1`"),
    (op.Transpose, call("a", perm=1), "OW511", "is `list[int]`, not int `1`"),
    (op.Transpose, call("a", perm=[1.5]), "OW511", "not list `[1.5]`"),
    (op.Transpose, call("a", perm=np.zeros((2, 2), int)), "OW511", "shape (2, 2)"),
    (op.Transpose, call("a", perm="10"), "OW511", "not str"),
    (op.Softmax, call("a", axis=VALUE), "OW512", "is given a tensor"),
    (op.Softmax, call("a", axis=DuckTensor()), "OW512", "is given a tensor"),
    (op.Softmax, call("a", axis=GraphLike()), "OW512", "is given a tensor"),
    (op.Transpose, call("a", perm=[0, VALUE]), "OW512", "annotate the parameter"),
    (op.Softmax, call("a", axis=2**63), "OW513", "9223372036854775808"),
    (op.Elu, call("a", alpha=1e39), "OW513", "1e+39"),
    (op.Elu, call("a", alpha=10**400), "OW513", "cannot hold"),
    (op.Split, call("a", _outputs=0), "OW514", "`_outputs=` of `Split` is int `0`"),
    (op.Add, call("a", "b", _outputs=2), "OW514", "from 1 to 1"),
    (op.Add, call("a", "b", _outputs=True), "OW514", "bool"),
    (op.Add, call("a", "b", _name=3), "OW514", "`_name=` of `Add` is int `3`"),
]


@each(("which", "arguments", "code", "words"), WRONG)
def test_wrong_calls(which: Op, arguments: Any, code: str, words: str) -> None:
    with pytest.raises(OnnxwrightError) as caught:
        which.bind(*arguments)
    assert caught.value.diagnostic.code == code
    assert words in str(caught.value)
    assert isinstance(caught.value, (TypeError, ValueError))
    if code not in ("OW513", "OW514"):
        assert f"the operator is {which.signature}" in str(caught.value)


def test_python_signature() -> None:
    assert str(inspect.signature(op.Add)) == "(A: 'T', B: 'T') -> 'T'"
    assert str(inspect.signature(op.Concat)) == "(*inputs: 'T', axis: 'int') -> 'T'"
    assert list(inspect.signature(custom.Foo).parameters) == ["inputs", "attributes"]
    assert "outputs" in str(inspect.signature(op.Split)) or inspect.signature(op.Split)


def test_help() -> None:
    text = pydoc.plain(pydoc.render_doc(op.MatMul))
    assert "MatMul(A: T, B: T) -> Y: T" in text
    assert "numpy.matmul" in text
    assert "https://onnx.ai/onnx/operators/onnx__MatMul.html" in text
    assert "Attributes:\n    axis (int = -1): " in (op.Softmax.__doc__ or "")
    assert "custom operator" in (custom.Foo.__doc__ or "")
    assert "An operator of an opset" in (Op.__doc__ or "")


@pytest.mark.parametrize("which", [op.Add, custom.Foo])
def test_an_op_is_a_value(which: Op) -> None:
    assert pickle.loads(pickle.dumps(which)) == which
    assert copy.deepcopy(which) == which
    assert hash(copy.copy(which)) == hash(which)
    assert which == Op(which.opset, which.name)
    assert which != opset13.Add
    assert which != "Add"
    assert which.__name__ == which.name


def test_facts_of_an_op() -> None:
    assert (op.Add.domain, op.Add.name, op.Add.version, op.Add.since_version) == ("", "Add", 18, 14)
    assert op.Add.opset is opset18
    assert op.Add.op_schema is not None
    assert op.Add.op_schema.name == "Add"
    assert custom.Foo.signature is None
    assert custom.Foo.op_schema is None
    assert custom.Foo.since_version == 1
    assert repr(op.Add) == "opset18.Add"


def test_calls_go_to_the_dispatcher() -> None:
    seen: list[Any] = []

    def dispatch(which: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        seen.append((which, args, kwargs))
        return "result"

    before = set_dispatcher(dispatch)
    try:
        assert op.Add(1, 2, _name="n") == "result"
    finally:
        assert set_dispatcher(before) is dispatch
    assert seen == [(op.Add, (1, 2), {"_name": "n"})]


def every_op() -> list[Callable[..., Any]]:
    return [getattr(opset, name) for opset in (opset1, opset11, op) for name in opset]


def test_every_op_documents_itself() -> None:
    for which in every_op():
        assert isinstance(which, Op)
        assert which.signature is not None
        assert which.__doc__ is not None
        assert which.__doc__.startswith(str(which.signature))
        assert inspect.signature(which) is not None
