"""Operators of many versions and domains through eager dispatch."""

from __future__ import annotations

import numpy as np
import pytest

from onnxwright import (
    Opset,
    latest_opset,
    opset1,
    opset6,
    opset9,
    opset10,
    opset11,
    opset13,
    opset_ai_onnx_ml3,
)
from onnxwright.eager import SequenceValue
from onnxwright.errors import OnnxwrightError
from tests.harness.tables import each

X = np.arange(6, dtype=np.float32).reshape(2, 3)
ml, ms = opset_ai_onnx_ml3, Opset("com.microsoft", 1)

CALLS = {
    "Relu of 6": (lambda: opset6.Relu(-X), -X * 0),
    "Slice of 1, by attributes": (lambda: opset1.Slice(X, starts=[0], ends=[1]), X[:1]),
    "Slice of 10, by inputs": (lambda: opset10.Slice(X, [0], [1]), X[:1]),
    "Upsample of 9": (
        lambda: opset9.Upsample(X, [1.0, 2.0], mode="nearest"),
        np.repeat(X, 2, axis=1),
    ),
    "Squeeze of 11": (lambda: opset11.Squeeze(X[None], axes=[0]), X),
    "Squeeze of 13": (lambda: opset13.Squeeze(X[None], [0]), X),
    "Einsum": (lambda: latest_opset.Einsum(X, X, equation="ij,kj->ik"), X @ X.T),
    "OneHot with numbers only": (
        lambda: np.asarray(latest_opset.OneHot([0, 2], 3, [0.0, 1.0])),
        np.eye(3, dtype=np.float32)[[0, 2]],
    ),
    "RegexFullMatch": (
        lambda: latest_opset.RegexFullMatch(np.array(["ab", "c"]), pattern="a.*"),
        np.array([True, False]),
    ),
    "ml Scaler": (lambda: ml.Scaler(X, offset=[0.0], scale=[2.0]), X * 2),
    "ml LabelEncoder": (
        lambda: ml.LabelEncoder(
            np.array(["b", "a"]), keys_strings=["a", "b"], values_int64s=[1, 2]
        ),
        np.array([2, 1]),
    ),
    "com.microsoft FusedMatMul": (lambda: ms.FusedMatMul(X, X, transB=1), X @ X.T),
}


@each("what", CALLS)
def test_calls(what: str) -> None:
    call, expected = CALLS[what]
    for _ in range(2):
        assert np.allclose(call(), expected)


def test_a_sequence_of_maps() -> None:
    maps = ml.ZipMap(X, classlabels_strings=["a", "b", "c"])
    assert isinstance(maps, SequenceValue)
    assert maps[1] == {"a": 3.0, "b": 4.0, "c": 5.0}


def test_a_version_without_kernel_names_those_with_one() -> None:
    with pytest.raises(OnnxwrightError, match="OW611") as caught:
        opset6.Add(X, X)
    assert "kernels for the versions 7, 13, 14" in str(caught.value)


def test_an_unknown_op_of_a_domain_that_the_runtime_has() -> None:
    with pytest.raises(OnnxwrightError, match="OW613"):
        ms.Nope(X)


@pytest.mark.slow
def test_more_than_two_gigabytes() -> None:
    x = np.ones((1200, 1024, 1024 * 2), np.int8)
    assert x.nbytes > 2**31
    negated = latest_opset.Neg(x)
    assert negated.shape == x.shape
    assert negated[-1, -1, -1] == -1
