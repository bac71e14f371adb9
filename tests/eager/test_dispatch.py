"""`op.X(...)` on values: kinds in and out, numbers, keywords, numbers of outputs, short paths."""

from __future__ import annotations

import functools
import gc
import threading
import tracemalloc
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper, numpy_helper

import onnxwright as ow
from onnxwright import latest_opset, opset13, opset23, script
from onnxwright import opset18 as op
from onnxwright.eager import OrtEvaluator, SequenceValue, Tensor, evaluator
from onnxwright.eager.ort.sessions import newest_opset
from onnxwright.errors import EagerError, OnnxwrightError
from onnxwright.types import FLOAT
from tests.harness.tables import each

X = np.arange(6, dtype=np.float32).reshape(2, 3)

CALLS = {
    "arrays": (lambda: op.Add(X, X), X + X),
    "an array and a number": (lambda: op.Add(X, 1.0), X + 1),
    "a number and an array": (lambda: op.Sub(1, X), 1 - X),
    "a list of ints as input": (lambda: op.Reshape(X, [3, 2]), X.reshape(3, 2)),
    "a list of floats as input": (lambda: op.Mul(X, [1.0, 2.0, 3.0]), X * [1, 2, 3]),
    "a numpy number": (lambda: op.Add(X, np.float32(2)), X + 2),
    "inputs by name": (lambda: op.Sub(B=X, A=X + 1), np.ones_like(X)),
    "an optional input left out": (lambda: op.Clip(X, None, 2.0), np.clip(X, None, 2)),
    "optional inputs by name": (lambda: op.Clip(X, max=2.0), np.clip(X, None, 2)),
    "attributes by name": (lambda: op.ReduceSum(X, [1], keepdims=0), X.sum(1)),
    "attributes that are lists": (lambda: op.Transpose(X, perm=[1, 0]), X.T),
    "attributes that are tuples": (lambda: op.Transpose(X, perm=(1, 0)), X.T),
    "an attribute by position": (lambda: op.Cast(X, np.int64), X.astype(np.int64)),
    "an annotation as dtype": (lambda: op.Cast(X, to=ow.INT32), X.astype(np.int32)),
    "variadic inputs": (lambda: op.Concat(X, X, X, axis=0), np.concatenate([X, X, X])),
    "a tensor attribute": (
        lambda: op.ConstantOfShape([2], value=np.array([7], np.int32)),
        np.array([7, 7], np.int32),
    ),
    "a constant": (lambda: op.Constant(value=X), X),
    "ints of a constant": (lambda: op.Constant(value_ints=[1, 2]).value, np.array([1, 2])),
    "int tensor beside an int": (lambda: op.Add(np.array([250], np.uint8), 5), np.array([255])),
    "condition": (lambda: op.Where(X > 2, X, 0.0), np.where(X > 2, X, 0)),
}


@each("what", CALLS)
def test_calls(what: str) -> None:
    call, expected = CALLS[what]
    for _ in range(3):
        array = call()
        assert isinstance(array, np.ndarray)
        assert np.array_equal(array, expected)


KINDS = {
    "arrays give arrays": ((X, X), np.ndarray),
    "tensors give tensors": ((Tensor(X), Tensor(X)), Tensor),
    "a mix gives tensors": ((X, Tensor(X)), Tensor),
    "an array and a number give an array": ((X, 2.0), np.ndarray),
    "a tensor and a number give a tensor": ((Tensor(X), 2.0), Tensor),
    "numbers give a tensor": ((1.0, 2.0), Tensor),
    "a numpy number gives an array": ((np.float32(1), 2.0), np.ndarray),
}


@each("what", KINDS)
def test_results_come_in_the_kind_that_went_in(what: str) -> None:
    args, kind = KINDS[what]
    for _ in range(3):
        assert type(op.Add(*args)) is kind


def test_inside_a_script_everything_is_a_tensor() -> None:
    kinds = []

    @script
    def f(x: FLOAT[...]) -> FLOAT[...]:
        kinds.append(type(x))
        kinds.append(type(op.Add(X, X)))
        kinds.append(type(op.Add(X, X)))
        return op.Add(x, X)

    op.Add(X, X)
    assert type(f.function and f(X)) is np.ndarray
    assert kinds == [Tensor] * 3


def test_number_of_outputs() -> None:
    image = X[None, None]
    y = op.MaxPool(image, kernel_shape=[2, 2])
    assert isinstance(y, np.ndarray)
    for _ in range(3):
        y, where = op.MaxPool(image, kernel_shape=[2, 2])
        assert where.dtype == np.int64
        (only,) = [op.MaxPool(image, kernel_shape=[2, 2])]
        assert np.array_equal(y, only)
    a, b, c = op.Split(X, axis=1, num_outputs=3)
    assert a.shape == b.shape == c.shape == (2, 1)
    assert len(op.Split(X, [1, 2], axis=1)) == 2
    a, b, c = opset13.Split(X, axis=1)
    assert c.shape == (2, 1)
    assert len(opset13.Split(X, axis=1, _outputs=3)) == 3
    values, indices = op.TopK(X, [2])
    assert values.shape == indices.shape == (2, 2)
    assert isinstance(op.TopK(X, [2]), tuple)


def test_the_short_path_tells_kinds_of_numbers_apart() -> None:
    """1, 1.0 and True are equal and hash alike, but mean something else."""
    assert op.LeakyRelu(-X, alpha=1).tolist() == (-X).tolist()
    assert op.LeakyRelu(-X, alpha=0.5).tolist() == (-X / 2).tolist()
    op.ReduceSum(X, keepdims=1)
    with pytest.raises(OnnxwrightError, match="OW511"):
        op.ReduceSum(X, keepdims=1.0)
    op.Transpose(X, perm=(1, 0))
    with pytest.raises(OnnxwrightError, match="OW511"):
        op.Transpose(X, perm=(1.0, 0.0))
    for zero in (0.0, -0.0, 0.0):
        array = op.LeakyRelu(np.array([-2.0], np.float32), alpha=zero)
        assert np.signbit(array[0]) != np.signbit(zero)
    for _ in range(3):
        op.LeakyRelu(X, alpha=float("nan"))
    ints = np.array([1, 2])
    op.Add(ints, 1)
    with pytest.warns(ow_warning(), match="OW405"):
        assert op.Add(ints, 1.5).tolist() == [2, 3]


def ow_warning() -> Any:
    from onnxwright.errors import OnnxwrightWarning

    return OnnxwrightWarning


def test_numbers_out_of_range_are_refused_also_after_a_good_call() -> None:
    small = np.array([1], np.int8)
    assert op.Add(small, 5).tolist() == [6]
    with pytest.raises(OnnxwrightError, match="OW404"):
        op.Add(small, 300)
    with pytest.raises(OnnxwrightError, match="OW404"):
        op.Add(np.array([1]), 2**70)


EXOTIC = {
    16: ml_dtypes.bfloat16,
    17: ml_dtypes.float8_e4m3fn,
    18: ml_dtypes.float8_e4m3fnuz,
    19: ml_dtypes.float8_e5m2,
    20: ml_dtypes.float8_e5m2fnuz,
    21: ml_dtypes.uint4,
    22: ml_dtypes.int4,
    25: ml_dtypes.uint2,
    26: ml_dtypes.int2,
}


@pytest.mark.parametrize("number", EXOTIC)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (1, 0, 2), (5,)], ids=str)
def test_types_that_numpy_does_not_have(number: int, shape: tuple[int, ...]) -> None:
    dtype = np.dtype(EXOTIC[number])
    size = int(np.prod(shape))
    if number > 24 and newest_opset() < 25:
        pytest.skip("this runtime has no types of two bits")
    x = (np.arange(size) % 2).astype(np.float32).reshape(shape)
    for _ in range(2):
        narrow = latest_opset.Cast(x, to=number)
        assert narrow.dtype == dtype
        assert narrow.shape == shape
        assert np.array_equal(narrow, x.astype(dtype))
        back = latest_opset.Cast(narrow, to=1)
        assert np.array_equal(back, x)


def test_negative_numbers_of_small_types() -> None:
    x = np.array([-8, -1, 7, -3, 0], np.float32)
    narrow = opset23.Cast(x, to=22)
    assert narrow.tolist() == [-8, -1, 7, -3, 0]


def test_strings_and_narrow_types_in_one_op() -> None:
    text = np.array(["1", "2.5"], object)
    narrow = op.Cast(text, to=16)
    assert narrow.dtype == ml_dtypes.bfloat16
    assert narrow.astype(float).tolist() == [1.0, 2.5]
    assert op.Cast(narrow, to=8).tolist() == ["1", "2.5"]


def test_strings() -> None:
    x = np.array(["a", "b"])
    assert op.Identity(x).tolist() == ["a", "b"]
    assert opset23.Concat(x, np.array(["c"]), axis=0).tolist() == ["a", "b", "c"]
    assert latest_opset.StringConcat(x, "!").tolist() == ["a!", "b!"]


@pytest.mark.parametrize("indices", [[0, 3], [[0, 0], [1, 1]]], ids=["linear", "rows"])
def test_sparse_constants_are_dense_values(indices: list[Any]) -> None:
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.array([5, 7], np.float32)),
        numpy_helper.from_array(np.array(indices)),
        [2, 2],
    )
    assert op.Constant(sparse_value=sparse).tolist() == [[5, 0], [0, 7]]


def test_sequences() -> None:
    seq = op.SequenceConstruct(X, X + 1)
    assert isinstance(seq, SequenceValue)
    assert all(isinstance(v, np.ndarray) for v in seq)
    assert np.array_equal(op.SequenceAt(seq, 1), X + 1)
    assert op.SequenceLength([X, X, X]).item() == 3
    assert np.array_equal(op.ConcatFromSequence([X, X], axis=0), np.concatenate([X, X]))
    empty = op.SequenceEmpty(dtype=7)
    assert len(empty) == 0
    assert str(empty.onnx_type) == "Sequence[INT64]"
    assert op.SequenceInsert(empty, np.array([1]))[0].tolist() == [1]
    inner = op.SequenceInsert(op.SequenceConstruct(Tensor(X)), X)
    assert all(isinstance(v, Tensor) for v in inner)


def test_optionals() -> None:
    assert op.OptionalHasElement(op.Optional(X)).item() is True
    assert np.array_equal(op.OptionalGetElement(X), X)
    assert opset23.OptionalHasElement(None).item() is False


def test_maps() -> None:
    from onnxwright import opset_ai_onnx_ml5 as ml

    vector = ml.DictVectorizer({"a": 1.5, "c": 2.5}, string_vocabulary=["a", "b", "c"])
    assert vector.tolist() == [[1.5, 0.0, 2.5]]


def test_complex_numbers_have_no_kernel_and_the_error_says_so() -> None:
    with pytest.raises(OnnxwrightError) as caught:
        op.Reshape(np.array([1j], np.complex64), [1])
    assert caught.value.diagnostic.code == "OW611"
    text = str(caught.value)
    assert "FLOAT" in text
    assert 'evaluator("reference")' in text


def test_a_failure_names_op_types_and_line() -> None:
    with pytest.raises(EagerError) as caught:
        op.MatMul(X, X)
    d = caught.value.diagnostic
    assert d.code == "OW612"
    assert "FLOAT[2, 3], FLOAT[2, 3]" in d.inputs
    assert d.signature.startswith("MatMul(A: T, B: T)")
    assert d.span.file == __file__
    assert "op.MatMul(X, X)" in str(caught.value)
    assert caught.value.__cause__ is not None
    assert "onnxruntime_src" not in str(caught.value)


def test_random_and_empty() -> None:
    assert op.RandomNormal(shape=[2, 3]).shape == (2, 3)
    assert op.Concat(np.zeros((0, 3), np.float32), X, axis=0).shape == (2, 3)
    assert op.ReduceSum(np.zeros((0,), np.float32)).tolist() == [0.0]


def test_eight_threads() -> None:
    """Mixed signatures from eight threads: right results, and a bounded cache."""
    e = OrtEvaluator(max_sessions=6)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        with evaluator(e):
            for n in range(60):
                dtype = (np.float32, np.float64, np.int64, np.int32)[n % 4]
                x = rng.integers(0, 9, 4).astype(dtype)
                for name, expected in (("Add", x + x), ("Sub", x - x), ("Mul", x * x)):
                    if not np.array_equal(getattr(op, name)(x, x), expected):
                        wrong.append((name, dtype))
                if not np.array_equal((Tensor(x) + Tensor(x)).value, x + x):
                    wrong.append("+")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert len(e.cache) <= 6
    assert e.cache.evictions > 0


@pytest.mark.slow
def test_eight_threads_of_ten_thousand_calls() -> None:
    e = OrtEvaluator(max_sessions=64)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        with evaluator(e):
            for n in range(10_000):
                dtype = (np.float32, np.float64, np.int64, np.int32)[n % 4]
                x = rng.integers(0, 9, 4).astype(dtype)
                name, expected = (("Add", x + x), ("Sub", x - x), ("Mul", x * x))[n % 3]
                if not np.array_equal(getattr(op, name)(x, x), expected):
                    wrong.append((name, dtype))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert len(e.cache) <= 64


def grow(calls: int) -> int:
    """Bytes that Python holds more after so many calls than before."""
    x, t = np.ones(4, np.float32), Tensor(np.ones(4, np.float32))

    def work(count: int) -> None:
        for n in range(count):
            op.Add(x, x)
            t + t
            t * 0.5
            op.Reshape(x, [2, 2])
            if n % 50 == 0:
                op.Clip(x, None, 0.5)

    work(500)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    work(calls)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return after - before


def test_memory_does_not_grow_with_calls() -> None:
    assert grow(2_000) < 50_000


@pytest.mark.slow
def test_memory_does_not_grow_over_a_hundred_thousand_calls() -> None:
    assert grow(25_000) < 50_000


def _logged(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result

    return call


def test_an_output_unpacked_after_its_call_names_the_way() -> None:
    """A wrapper around an operator cannot show how many outputs are wanted; it can pass it on."""
    pool = _logged(op.MaxPool)
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    with pytest.raises(EagerError, match=r"OW626.*`MaxPool` returned 1 output(?s:.*)`_outputs=2`"):
        y, where = pool(x, kernel_shape=[2, 2])

    def stored() -> Any:
        result = op.MaxPool(x, kernel_shape=[2, 2])
        values, indices = result
        return values, indices

    with pytest.raises(EagerError, match="OW626"):
        stored()
    y, where = pool(x, kernel_shape=[2, 2], _outputs=2)
    assert y.shape == where.shape == (1, 1, 3, 3)
    y, where = _logged(op.TopK)(x, [1])  # always two outputs
    assert where.dtype == np.int64


def test_rows_of_one_output_can_be_unpacked() -> None:
    """Two names for a batch of two are its rows, wherever the call stands."""
    x = np.arange(32, dtype=np.float32).reshape(2, 1, 4, 4)
    pooled = op.MaxPool(x, kernel_shape=[2, 2])
    first, second = pooled
    assert first.shape == second.shape == (1, 3, 3)
    third, fourth = _logged(op.MaxPool)(x, kernel_shape=[2, 2])
    np.testing.assert_array_equal(third, first)
    np.testing.assert_array_equal(fourth, second)
