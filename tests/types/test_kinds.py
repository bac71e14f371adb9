"""Types as data: text, fitting, joining."""

from __future__ import annotations

import onnx
import pytest

from onnxwright.errors import ScriptTypeError
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import (
    AttrKind,
    MapType,
    OnnxType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
    fits,
    parse_onnx_name,
    refine_types,
    unify_types,
)
from tests.harness.tables import each

F = TensorType(DType.FLOAT)
F23 = TensorType(DType.FLOAT, (2, 3))
FN3 = TensorType(DType.FLOAT, ("N", 3))
D = TensorType(DType.DOUBLE)
ANY = TensorType()

TEXTS: list[tuple[OnnxType, str, str]] = [
    (F, "FLOAT", "tensor(float)"),
    (FN3, "FLOAT[N, 3]", "tensor(float)"),
    (TensorType(DType.INT64, ()), "INT64[()]", "tensor(int64)"),
    (TensorType(None, (None,)), "Tensor[None]", "tensor(?)"),
    (SequenceType(FN3), "Sequence[FLOAT[N, 3]]", "seq(tensor(float))"),
    (SequenceType(), "Sequence[?]", "seq(?)"),
    (OptionalType(SequenceType(F)), "Optional[Sequence[FLOAT]]", "optional(seq(tensor(float)))"),
    (MapType(DType.STRING, F), "Map[STRING, FLOAT]", "map(string,tensor(float))"),
    (SparseTensorType(DType.FLOAT, (2,)), "Sparse[FLOAT[2]]", "sparse_tensor(float)"),
]


@each(("kind", "text", "onnx_name"), TEXTS)
def test_text(kind: OnnxType, text: str, onnx_name: str) -> None:
    assert str(kind) == text
    assert kind.onnx_name == onnx_name


FITS = [
    (F23, FN3, True),
    (FN3, F23, True),
    (F, D, False),
    (ANY, D, True),
    (D, ANY, True),
    (TensorType(DType.FLOAT, (2, 4)), FN3, False),
    (TensorType(DType.FLOAT, (2,)), FN3, False),
    (SequenceType(F), SequenceType(FN3), True),
    (SequenceType(F), SequenceType(D), False),
    (SequenceType(F), F, False),
    (F, SequenceType(F), False),
    (F, OptionalType(F), True),
    (OptionalType(F), F, False),
    (OptionalType(F), OptionalType(D), False),
    (OptionalType(F), OptionalType(), True),
    (MapType(DType.STRING, F), MapType(DType.STRING), True),
    (MapType(DType.STRING, F), MapType(DType.INT64, F), False),
    (SparseTensorType(DType.FLOAT), F, False),
    (F, SparseTensorType(DType.FLOAT), False),
    (None, F, True),
    (F, None, True),
]


@each(("actual", "wanted", "expected"), FITS)
def test_fits(actual: OnnxType | None, wanted: OnnxType | None, expected: bool) -> None:
    assert fits(actual, wanted) is expected


UNIFIED = [
    (F23, F23, F23),
    (F23, FN3, TensorType(DType.FLOAT, (None, 3))),
    (F, D, ANY),
    (SequenceType(F23), SequenceType(FN3), SequenceType(TensorType(DType.FLOAT, (None, 3)))),
    (F, OptionalType(F), OptionalType(F)),
    (F, SequenceType(F), None),
    (MapType(DType.STRING, F), MapType(DType.STRING, D), MapType(DType.STRING, ANY)),
    (SparseTensorType(DType.FLOAT), SparseTensorType(DType.DOUBLE), SparseTensorType()),
    (F, None, None),
]


@each(("a", "b", "expected"), UNIFIED)
def test_unify_types(a: OnnxType | None, b: OnnxType | None, expected: OnnxType | None) -> None:
    assert unify_types(a, b) == expected
    assert unify_types(b, a) == expected


REFINED = [
    (F, TensorType(None, ("N",)), TensorType(DType.FLOAT, ("N",))),
    (FN3, F23, F23),
    (None, F, F),
    (F, None, F),
    (SequenceType(), SequenceType(F), SequenceType(F)),
    (OptionalType(F), OptionalType(F23), OptionalType(F23)),
    (F, SequenceType(F), F),
]


@each(("a", "b", "expected"), REFINED)
def test_refine_types(a: OnnxType | None, b: OnnxType | None, expected: OnnxType | None) -> None:
    assert refine_types(a, b) == expected


@each("text", ["float", "tensor(float", "list(tensor(float))", "seq(float)"])
def test_a_text_that_is_no_type(text: str) -> None:
    with pytest.raises(ScriptTypeError, match="OW447"):
        parse_onnx_name(text)


@each("kind", list(AttrKind))
def test_attribute_kinds_are_those_of_onnx(kind: AttrKind) -> None:
    assert onnx.AttributeProto.AttributeType.Name(kind.number) == kind.stored.value
    assert kind.element.list_of is kind.list_of
    assert kind.list_of.is_list
    assert kind.python
