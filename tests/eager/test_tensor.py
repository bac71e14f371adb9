"""`Tensor`: facts, conversions, printing, Python's protocols."""

from __future__ import annotations

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from onnxwright.eager.arrays import as_array
from onnxwright.eager.tensor import Tensor
from onnxwright.errors import EagerError
from onnxwright.types import FLOAT, DType
from tests.harness.tables import each

X = np.arange(6, dtype=np.float32).reshape(2, 3)

MADE = {
    "an array keeps its type": (np.ones(2, np.int8), None, np.int8),
    "an array is converted": (np.ones(2, np.int8), np.float16, np.float16),
    "a Python float is FLOAT": (1.5, None, np.float32),
    "a Python int is INT64": (1, None, np.int64),
    "a bool is BOOL": (True, None, np.bool_),
    "a list of ints and floats is FLOAT": ([1, 2.5], None, np.float32),
    "a complex number is COMPLEX64": (1j, None, np.complex64),
    "a numpy number keeps its type": (np.float16(1), None, np.float16),
    "np.float64 is a Python float": (np.float64(1), None, np.float32),
    "text is STRING": ("a", None, object),
    "numpy text is STRING": (np.array(["a", "bb"]), None, object),
    "a DType converts": ([1, 2], DType.BFLOAT16, ml_dtypes.bfloat16),
    "an annotation converts": ([1, 2], FLOAT, np.float32),
    "a range": (range(3), None, np.int64),
    "another tensor": (Tensor(X), None, np.float32),
    "big endian becomes native": (np.ones(2, ">f4"), None, np.float32),
    "empty": ([], None, np.float32),
}


@each("what", MADE)
def test_construction(what: str) -> None:
    value, dtype, expected = MADE[what]
    tensor = Tensor(value, dtype)
    assert tensor.dtype == np.dtype(expected)
    assert tensor.dtype.isnative
    assert type(tensor.value) is np.ndarray


@each("bad", [object(), [1, [2, 3]], np.array([object()]), np.datetime64("2020"), {1: 2}])
def test_what_is_no_array_is_refused(bad: object) -> None:
    with pytest.raises(TypeError):
        Tensor(bad)


def test_facts() -> None:
    t = Tensor(X)
    assert (t.shape, t.ndim, t.rank, t.size, t.nbytes) == ((2, 3), 2, 2, 6, 24)
    assert t.onnx_dtype is DType.FLOAT
    assert str(t.onnx_type) == "FLOAT[2, 3]"
    assert t.numpy() is t.value
    assert t.tolist() == X.tolist()
    assert np.array_equal(t.T.value, X.T)


REPRS = {
    "matrix": (X, "Tensor([[0., 1., 2.],\n        [3., 4., 5.]], FLOAT[2, 3])"),
    "scalar": (np.int64(3), "Tensor(3, INT64[()])"),
    "bfloat16": (np.ones(2, ml_dtypes.bfloat16), "Tensor([1, 1], BFLOAT16[2])"),
    "empty": (np.zeros((0, 2), np.float32), "Tensor([], FLOAT[0, 2])"),
    "text": (np.array(["a"], object), "Tensor(['a'], STRING[1])"),
}


@each("what", REPRS)
def test_repr_is_numpys_with_type_and_shape(what: str) -> None:
    value, text = REPRS[what]
    shown = repr(Tensor(value)).replace("[], dtype=float32", "[]").replace(", shape=(0, 2)", "")
    assert shown == text


def test_text_and_format() -> None:
    assert str(Tensor(np.float32(2.5))) == "2.5"
    assert str(Tensor([1, 2])) == "[1 2] INT64[2]"
    assert f"{Tensor(2.5):.2f}|{Tensor([7]):03d}" == "2.50|007"
    with pytest.raises(EagerError, match="OW602"):
        f"{Tensor(X):.2f}"


def test_numbers() -> None:
    assert int(Tensor(3.7)) == 3
    assert float(Tensor([2])) == 2.0
    assert complex(Tensor(2)) == 2
    assert [10, 20, 30][Tensor(np.int32(1))] == 20
    assert list(range(Tensor(3))) == [0, 1, 2]
    assert Tensor([[4.5]]).item() == 4.5
    assert Tensor(["a"]).item() == "a"


REFUSED = {
    "bool of many": (lambda: bool(Tensor(X)), "OW601", ValueError),
    "bool of none": (lambda: bool(Tensor([])), "OW601", ValueError),
    "and of many": (lambda: Tensor(X) and 1, "OW601", ValueError),
    "float of many": (lambda: float(Tensor(X)), "OW602", TypeError),
    "index of a fraction": (lambda: [1][Tensor(0.5)], "OW602", TypeError),
    "index of many": (lambda: [1][Tensor([0, 1])], "OW602", TypeError),
    "item of many": (lambda: Tensor(X).item(), "OW602", TypeError),
    "length of a scalar": (lambda: len(Tensor(1)), "OW603", TypeError),
    "iteration over a scalar": (lambda: list(Tensor(1)), "OW603", TypeError),
}


@each("what", REFUSED)
def test_refusals_have_a_place_and_a_builtin_twin(what: str) -> None:
    act, code, twin = REFUSED[what]
    with pytest.raises(EagerError) as caught:
        act()
    assert caught.value.diagnostic.code == code
    assert isinstance(caught.value, twin)
    assert __file__ in str(caught.value)


def test_bool_says_what_to_use_instead() -> None:
    with pytest.raises(EagerError, match="`&`, `|`, `~`"):
        bool(Tensor(X) > 1)


def test_numpy_protocols() -> None:
    t = Tensor(X)
    assert np.asarray(t) is t.value
    assert np.array(t) is not t.value
    assert np.array(t, dtype=np.float64).dtype == np.float64
    assert isinstance(X + t, Tensor)
    assert isinstance(np.float32(1) * t, Tensor)
    np.testing.assert_allclose(t, X)
    assert np.allclose(t, X)
    assert np.array_equal(np.from_dlpack(t), X)
    assert [row.shape for row in t] == [(3,), (3,)]
    assert all(type(row.value) is np.ndarray for row in Tensor([1, 2]))
    assert len(t) == 2
    assert 4.0 in t
    assert 9.0 not in t


@each("clone", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies(clone) -> None:
    copied = clone(Tensor(X))
    assert type(copied) is Tensor
    assert np.array_equal(copied.value, X)


def test_a_tensor_is_hashable_by_identity() -> None:
    t = Tensor(X)
    assert len({t, t, Tensor(X)}) == 2


def test_tensor_is_an_annotation() -> None:
    from onnxwright.types import parse_annotation

    assert str(parse_annotation(Tensor)) == "Tensor"
    assert str(parse_annotation(Tensor["N", 3])) == "Tensor[N, 3]"


def test_as_array_does_not_copy_what_fits() -> None:
    assert as_array(X) is X
    assert as_array(Tensor(X)) is X
