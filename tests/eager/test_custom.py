"""Custom operators: Python implementations, FunctionProtos, and what says that there is none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx.parser
import pytest

from onnxwright import FLOAT, Opset, evaluator, script
from onnxwright import opset18 as op
from onnxwright.eager import Tensor, forget, implement, implement_function
from onnxwright.errors import EagerError

X = np.arange(3, dtype=np.float32)
DOMAIN = "tests.custom"
own = Opset(DOMAIN, 1)
newer = Opset(DOMAIN, 3)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    forget(DOMAIN)


def function(text: str) -> onnx.FunctionProto:
    return onnx.parser.parse_function(text)


def test_python_implementation() -> None:
    @implement(DOMAIN, "Scale")
    def scale(x, y=None, factor=2.0):
        assert type(x) is np.ndarray
        return x * np.float32(factor) if y is None else x * y

    assert own.Scale(X).tolist() == [0, 2, 4]
    assert own.Scale(X, factor=3.0).tolist() == [0, 3, 6]
    assert own.Scale(Tensor(X), Tensor(X)).tolist() == [0, 1, 4]
    assert type(own.Scale(Tensor(X))) is Tensor


def test_several_outputs() -> None:
    @implement(DOMAIN, "Both")
    def both(x):
        return x, [1, 2]

    a, b = own.Both(X)
    assert a.tolist() == X.tolist()
    with pytest.raises(EagerError, match="OW616"):
        own.Both(X, _outputs=3)


def test_in_a_script() -> None:
    @implement(DOMAIN, "Twice")
    def twice(x):
        return x + x

    @script
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return op.Neg(own.Twice(x))

    assert f(X).tolist() == [0, -2, -4]


def test_versions() -> None:
    implement(DOMAIN, "Op", 1)(lambda x: x + 1)
    implement(DOMAIN, "Op", 3)(lambda x: x + 3)
    assert own.Op(X)[0] == 1
    assert Opset(DOMAIN, 2).Op(X)[0] == 1
    assert newer.Op(X)[0] == 3


def test_a_second_implementation_is_refused() -> None:
    implement(DOMAIN, "Op")(lambda x: x)
    with pytest.raises(EagerError, match="OW617") as caught:
        implement(DOMAIN, "Op")(lambda x: x + 1)
    assert __file__ in caught.value.diagnostic.place
    implement(DOMAIN, "Op", replace=True)(lambda x: x + 1)
    assert own.Op(X)[0] == 1


@pytest.mark.parametrize("which", ["ort", "reference"])
def test_function_proto(which: str) -> None:
    head = f'<domain: "{DOMAIN}", opset_import: ["" : 18, "{DOMAIN}" : 1]>'
    implement_function(function(f"{head} Inner (x) => (y) {{ y = Add(x, x) }}"))
    implement_function(
        function(
            f"{head} Outer <alpha> (x) => (y, z)"
            f"{{ h = {DOMAIN}.Inner(x)  y = LeakyRelu <alpha: float = @alpha> (h)  z = Neg(x) }}"
        )
    )
    with evaluator(which):
        for _ in range(2):
            y, z = own.Outer(-X, alpha=0.5)
            assert y.tolist() == [0, -1, -2]
            assert z.tolist() == [0, 1, 2]
        y, _ = own.Outer(X.astype(np.float64), alpha=0.5)
        assert y.dtype == np.float64


@pytest.mark.parametrize("which", ["ort", "reference"])
def test_a_function_may_call_what_python_implements(which: str) -> None:
    implement(DOMAIN, "Leaf")(lambda x: x + 10)
    implement_function(
        function(
            f'<domain: "{DOMAIN}", opset_import: ["" : 18, "{DOMAIN}" : 1]>'
            f"Tree (x) => (y) {{ h = {DOMAIN}.Leaf(x)  y = Neg(h) }}"
        )
    )
    with evaluator(which):
        assert own.Tree(X).tolist() == [-10, -11, -12]


def test_without_an_implementation_the_error_shows_the_ways() -> None:
    with pytest.raises(EagerError, match="OW613") as caught:
        own.Missing(X)
    text = str(caught.value)
    assert 'implement("tests.custom", "Missing")' in text
    assert "implement_function" in text
    assert "custom_op_libraries" in text
