"""Text has no arithmetic in ONNX, whether the other operand's type is known or not."""

from __future__ import annotations

import numpy as np
import pytest

import onnxwright as ow
from onnxwright.errors import OnnxwrightError
from tests.harness.tables import each

OTHER = ow.Opset("other.domain", 1)


@ow.script()
def remainder(x):
    return OTHER.Unknown(x) % ""


@ow.script()
def quotient(x):
    return OTHER.Unknown(x) // "a"


@ow.script()
def power(x):
    return "a" ** OTHER.Unknown(x)


@each("function", [remainder, quotient, power])
def test_of_an_unknown_type(function) -> None:
    with pytest.raises(OnnxwrightError, match="OW409.*STRING tensors"):
        function.to_function_proto()


def test_of_text() -> None:
    text = ow.Tensor(np.array(["a"], object))
    with pytest.raises(OnnxwrightError, match="OW409.*STRING(.|\n)*StringConcat"):
        text + "b"
    assert bool(text == "a")
