"""What annotations say, and which are refused."""
# ruff: noqa: UP006, UP007, UP035, UP045 - every way to write a type is a case

from __future__ import annotations

import copy
import pickle
import typing
from collections.abc import Callable, Sequence
from typing import Annotated, Any, List, Literal, Optional, Tuple, TypeVar, Union

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from typing_extensions import TypeAliasType

from onnxwright.errors import OnnxwrightError
from onnxwright.types.annotations import parse_annotation, show_annotation
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from onnxwright.types.roles import EagerTensorBase
from onnxwright.types.tensors import (
    BFLOAT16,
    BOOL,
    DOUBLE,
    FLOAT,
    INT64,
    STRING,
    Shape,
    Tensor,
)
from tests.harness.tables import each

T = TypeVar("T", FLOAT, DOUBLE)
B = TypeVar("B", bound=Union[FLOAT, DOUBLE])
FREE = TypeVar("FREE")
SHAPED = TypeVar("SHAPED", bound=FLOAT["N"])
NUMBER = TypeVar("NUMBER", bound=int)
Alias = typing.NewType("Alias", int)
Item = TypeVar("Item")
ListOf = TypeAliasType("ListOf", Sequence[Item], type_params=(Item,))  # as numpy 2.5 has NDArray


class EagerLike(EagerTensorBase):
    """As the class of eager tensors."""


SPECS: list[tuple[object, str]] = [
    (FLOAT, "FLOAT"),
    (BFLOAT16, "BFLOAT16"),
    (Tensor, "Tensor"),
    (EagerLike, "Tensor"),
    (Any, "Tensor"),
    (object, "Tensor"),
    (FLOAT["N", 3], "FLOAT[N, 3]"),
    (FLOAT["N"], "FLOAT[N]"),
    (FLOAT[3], "FLOAT[3]"),
    (FLOAT[np.int64(3)], "FLOAT[3]"),
    (FLOAT[0], "FLOAT[0]"),
    (FLOAT[()], "FLOAT[()]"),
    (FLOAT[...], "FLOAT"),
    (FLOAT[None], "FLOAT[None]"),
    (FLOAT[None, 3], "FLOAT[None, 3]"),
    (Tensor["N", 3], "Tensor[N, 3]"),
    (DType.FLOAT, "FLOAT"),
    (TensorType(DType.FLOAT, ("N",)), "FLOAT[N]"),
    (FLOAT | DOUBLE, "FLOAT | DOUBLE"),
    (Union[FLOAT, DOUBLE], "FLOAT | DOUBLE"),
    (FLOAT["N"] | DOUBLE, "FLOAT[N] | DOUBLE"),
    (FLOAT | Tensor, "Tensor"),
    (FLOAT | None, "Optional[FLOAT]"),
    (None | FLOAT["N"], "Optional[FLOAT[N]]"),
    (Optional[FLOAT], "Optional[FLOAT]"),
    (Optional[Union[FLOAT, DOUBLE]], "Optional[FLOAT | DOUBLE]"),
    (T, "T: FLOAT | DOUBLE"),
    (B, "B: FLOAT | DOUBLE"),
    (FREE, "FREE"),
    (SHAPED, "SHAPED: FLOAT[N]"),
    (Optional[T], "Optional[T: FLOAT | DOUBLE]"),
    (Sequence[FLOAT], "Sequence[FLOAT]"),
    (typing.Sequence[FLOAT["N"]], "Sequence[FLOAT[N]]"),
    (list[FLOAT], "Sequence[FLOAT]"),
    (List[FLOAT], "Sequence[FLOAT]"),
    (Sequence[Tensor], "Sequence[Tensor]"),
    (Sequence[FLOAT | DOUBLE], "Sequence[FLOAT] | Sequence[DOUBLE]"),
    (Sequence[Sequence[FLOAT]], "Sequence[Sequence[FLOAT]]"),
    (Optional[Sequence[FLOAT]], "Optional[Sequence[FLOAT]]"),
    (dict[str, FLOAT], "Map[STRING, FLOAT]"),
    (dict[int, float], "Map[INT64, FLOAT]"),
    (Annotated[FLOAT, "what it is"], "FLOAT"),
    (Annotated[FLOAT, "N", 3], "FLOAT[N, 3]"),
    (Annotated[FLOAT, "2*N + 1", None], "FLOAT[2*N + 1, None]"),
    (Annotated[FLOAT, "N", "what it is"], "FLOAT"),
    (Annotated[FLOAT | DOUBLE, "N"], "FLOAT[N] | DOUBLE[N]"),
    (Annotated[float, "N"], "float"),
    (Annotated[FLOAT["N"], "what it is"], "FLOAT[N]"),
    (Annotated[FLOAT, Shape["N", 3]], "FLOAT[N, 3]"),
    (Annotated[FLOAT, "doc", Shape["N", None], "more"], "FLOAT[N, None]"),
    (Annotated[FLOAT, Shape[()]], "FLOAT[()]"),
    (Annotated[FLOAT, Shape[...]], "FLOAT"),
    (Annotated[FLOAT | DOUBLE, Shape["N"]], "FLOAT[N] | DOUBLE[N]"),
    (Annotated[Tensor, Shape["N"]], "Tensor[N]"),
    (Annotated[T, Shape["N"]], "T: FLOAT[N] | DOUBLE[N]"),
    (Optional[Annotated[FLOAT, Shape["N"]]], "Optional[FLOAT[N]]"),
    # Attributes.
    (int, "int"),
    (float, "float"),
    (str, "str"),
    (bytes, "str"),
    (bool, "bool"),
    (Alias, "int"),
    (DType, "int"),
    (NUMBER, "int"),
    (int | None, "Optional[int]"),
    (Optional[float], "Optional[float]"),
    (Annotated[float, "how much"], "float"),
    (list[int], "list[int]"),
    (List[int], "list[int]"),
    (Sequence[float], "list[float]"),
    (tuple[int, ...], "list[int]"),
    (Tuple[int, int], "list[int]"),
    (Sequence[str], "list[str]"),
    (list[bool], "list[bool]"),
    (Optional[Sequence[int]], "Optional[list[int]]"),
    (Literal["none", "tanh"], "str"),
    (Literal[0, 1], "int"),
    (Optional[Literal["a"]], "Optional[str]"),
    (np.ndarray, "tensor"),
    (npt.NDArray[np.float32], "tensor"),
    (ListOf[FLOAT], "Sequence[FLOAT]"),
    (onnx.TensorProto, "tensor"),
    (Sequence[onnx.TensorProto], "list of tensors"),
    (onnx.GraphProto, "graph"),
    (onnx.TypeProto, "type"),
    (onnx.SparseTensorProto, "sparse tensor"),
    (Callable[..., Any], "graph"),
    (Callable, "graph"),
]


@each(("annotation", "expected"), SPECS)
def test_what_it_says(annotation: object, expected: str) -> None:
    assert str(parse_annotation(annotation)) == expected


REFUSED: list[tuple[Callable[[], object], str, str]] = [
    (lambda: complex, "OW440", "`complex`"),
    (lambda: set[int], "OW440", "set[int]"),
    (lambda: list, "OW440", "`list`"),
    (lambda: 3, "OW440", "`3`"),
    (lambda: Literal["a", 1], "OW440", "Literal"),
    (lambda: list[list[int]], "OW440", "list[list[int]]"),
    (lambda: Sequence[Optional[FLOAT]], "OW440", "Sequence"),
    (lambda: dict[FLOAT, FLOAT], "OW440", "dict"),
    (lambda: type(None), "OW440", "None"),
    (lambda: Annotated[int, Shape["N"]], "OW440", "Annotated"),
    (lambda: Annotated[Sequence[FLOAT], Shape["N"]], "OW440", "Annotated"),
    (lambda: int | float, "OW441", "`int` with `float`"),
    (lambda: Union[int, FLOAT], "OW441", "`int` with `FLOAT`"),
    (lambda: Union[FLOAT, int, None], "OW441", "`FLOAT` with `int`"),
    (lambda: FLOAT[1.5], "OW443", "`1.5`"),
    (lambda: FLOAT[-1], "OW443", "`-1`"),
    (lambda: FLOAT[True], "OW443", "`True`"),
    (lambda: FLOAT[""], "OW443", "`''`"),
    (lambda: FLOAT["N", ...], "OW443", "`...`"),
    (lambda: FLOAT[1:2], "OW443", "slice"),
    (lambda: Shape[-1], "OW443", "of `Shape`"),
    (lambda: FLOAT["N"]["M"], "OW444", "second"),
    (lambda: FLOAT["N"][...], "OW444", "second"),
    (lambda: Annotated[FLOAT["N"], Shape["M"]], "OW444", "second"),
]


@each(("make", "code", "words"), REFUSED)
def test_what_is_refused(make: Callable[[], object], code: str, words: str) -> None:
    with pytest.raises(OnnxwrightError) as caught:
        parse_annotation(make(), where="parameter `x` of `f` ")
    assert caught.value.diagnostic.code == code
    assert words in str(caught.value)
    if code in ("OW440", "OW441"):
        assert "parameter `x` of `f` " in str(caught.value)


def test_no_annotation() -> None:
    import inspect

    assert parse_annotation(inspect.Parameter.empty) is None


@each("kind", [FLOAT, FLOAT["N", 3], STRING[()], Tensor["N"], INT64[None]])
def test_annotations_are_values(kind: Any) -> None:
    assert pickle.loads(pickle.dumps(kind)) is kind
    assert copy.deepcopy(kind) is kind
    assert issubclass(kind, Tensor)
    assert typing.get_args(kind | None) == (kind, type(None))


def test_the_same_shape_is_the_same_class() -> None:
    assert FLOAT["N", 3] is FLOAT["N", 3]
    assert FLOAT["N", 3] is not DOUBLE["N", 3]
    assert FLOAT[1] is not FLOAT[(1, 1)]
    assert FLOAT["N", 3].dtype is DType.FLOAT
    assert FLOAT["N", 3].shape == ("N", 3)
    assert repr(FLOAT["N", None]) == "FLOAT['N', None]"
    assert repr(BOOL[()]) == "BOOL[()]"
    assert Shape["N"] == Shape["N"]
    assert len({Shape["N"], Shape["N"], Shape[()]}) == 2


def test_to_type_proto() -> None:
    proto = FLOAT["N", 3, None].to_type_proto()
    assert proto == onnx.helper.make_tensor_type_proto(1, ["N", 3, None])
    assert not FLOAT.to_type_proto().tensor_type.HasField("shape")
    with pytest.raises(TypeError):
        Tensor.to_type_proto()


def test_a_tensor_class_with_properties_is_any_tensor() -> None:
    class Eager(Tensor):
        @property
        def dtype(self) -> DType:  # type: ignore[override]
            return DType.FLOAT

        @property
        def shape(self) -> tuple[int, ...]:
            return ()

    assert str(parse_annotation(Eager)) == "Tensor"


@each(
    ("annotation", "text"),
    [(int, "int"), (Optional[int], "Optional[int]"), (FLOAT["N"], "FLOAT['N']"), (None, "None")],
)
def test_shown_as_written(annotation: object, text: str) -> None:
    assert show_annotation(annotation) == text
