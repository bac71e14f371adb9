"""The table of element types against onnx's own."""

import pickle

import numpy as np
import onnx
import pytest

from onnxwright.errors import ScriptTypeError
from onnxwright.types.dtypes import DType
from onnxwright.types.tensors import ANNOTATIONS
from tests.harness.tables import each


def test_numbers_are_those_of_onnx() -> None:
    theirs = {k: v for k, v in onnx.TensorProto.DataType.items() if k != "UNDEFINED"}
    assert {d.name: int(d) for d in DType} == theirs


@pytest.mark.parametrize("dtype", list(DType), ids=str)
def test_numpy_twin_is_that_of_onnx(dtype: DType) -> None:
    assert dtype.numpy == onnx.helper.tensor_dtype_to_np_dtype(int(dtype))
    assert DType.from_numpy(dtype.numpy) is dtype


@each("dtype", list(DType))
def test_names_round_trip(dtype: DType) -> None:
    assert DType.from_onnx_name(dtype.onnx_name) is dtype
    assert str(dtype) == f"{dtype}" == dtype.name
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert ANNOTATIONS[dtype].dtype is dtype
    assert ANNOTATIONS[dtype].__name__ == dtype.name


def test_every_type_name_in_the_schemas_is_known() -> None:
    from onnxwright.types.kinds import parse_onnx_name

    written = {
        text
        for schema in onnx.defs.get_all_schemas_with_history()
        for param in (*schema.inputs, *schema.outputs)
        for text in param.types
    }
    for text in written:
        assert parse_onnx_name(text).onnx_name == text


@each("dtype", list(DType))
def test_each_type_is_of_one_kind(dtype: DType) -> None:
    kinds = [dtype.is_float, dtype.is_integer, dtype.is_complex, dtype.is_bool, dtype.is_string]
    assert sum(kinds) == 1
    assert dtype.is_unsigned == dtype.name.startswith("UINT")
    if dtype.numpy.itemsize and not dtype.is_string:
        assert dtype.bits == dtype.numpy.itemsize * 8 or dtype.bits < 8


@each(
    ("given", "expected"),
    [
        (float, DType.DOUBLE),
        ("float32", DType.FLOAT),
        (np.float16, DType.FLOAT16),
        (np.dtype(">i4"), DType.INT32),
        (np.longlong, DType.INT64),
        (np.dtype("S4"), DType.STRING),
        (np.dtype("U4"), DType.STRING),
        (object, DType.STRING),
        (bool, DType.BOOL),
    ],
)
def test_from_numpy(given: object, expected: DType) -> None:
    assert DType.from_numpy(given) is expected


@each("given", ["datetime64[s]", np.longdouble, "no such thing", [("a", int)]])
def test_a_dtype_onnx_does_not_have(given: object) -> None:
    with pytest.raises(ScriptTypeError, match="OW447"):
        DType.from_numpy(given)


def test_a_name_onnx_does_not_have() -> None:
    with pytest.raises(ScriptTypeError, match="tensor\\(float7\\)"):
        DType.from_onnx_name("tensor(float7)")
