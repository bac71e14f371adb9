"""Python functions read as ONNX functions."""
# ruff: noqa: UP006, UP007, UP035, UP045, ISC004, RUF013, B006 - every way to write a type is a case

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, List, Optional, Tuple, TypeVar

import numpy as np
import onnx
import pytest

from onnxwright.errors import OnnxwrightError
from onnxwright.types.annotations import AttributeSpec, ValueSpec
from onnxwright.types.kinds import AttrKind
from onnxwright.types.signature import EMPTY, signature_of
from onnxwright.types.tensors import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT64,
    Shape,
)
from tests.harness.tables import each

T = TypeVar("T", FLOAT, DOUBLE)


def plain(x, y):
    pass


def numbers(x, axis=0, alpha=1.5, mode="a", flag=True, axes=[0, 1], sizes=(), y=None):
    pass


def kinds(x: FLOAT, /, y: T, *rest: FLOAT["N"], axis: int, beta: float | None = None) -> FLOAT:
    pass


def keyword_only(x: FLOAT, *, axis: int = 1) -> tuple[FLOAT, INT64["N"]]:
    pass


def positional_only(x, y, /):
    pass


def lists(a: list[int], b: List[float], c: Sequence[str], d: Optional[Sequence[int]] = None):
    pass


def sequences(xs: Sequence[FLOAT]) -> Sequence[FLOAT]:
    pass


def foreign(t: onnx.TensorProto, a: np.ndarray, g: onnx.GraphProto, f: Callable[..., Any]):
    pass


def optionals(x: Optional[FLOAT], y: FLOAT = None, k: int = None, n: Optional[int] = None):
    pass


def annotated(
    x: Annotated[FLOAT, Shape["N", 3]], s: Annotated[float, "how much"] = 1.0
) -> Annotated[FLOAT, Shape["N"]]:
    pass


def quoted(x: "FLOAT['N']", y: "Optional[FLOAT]", zs: Sequence["FLOAT"], k: "int | None" = None):
    pass


def nothing(x) -> None:
    pass


def old_tuple(x) -> Tuple[FLOAT, BOOL]:
    pass


def many(x) -> tuple[FLOAT, ...]:
    pass


def some(x) -> tuple:
    pass


def empty_tuple(x) -> tuple[()]:
    pass


def any_results(x) -> tuple[Any, FLOAT]:
    pass


def int_for_float(x, alpha: float = 1, flag: bool = 0, betas: list[float] = (1, 2.5)):
    pass


SIGNATURES: list[tuple[Callable[..., Any], str]] = [
    (plain, "(x, y)"),
    (
        numbers,
        "(x, axis: int = 0, alpha: float = 1.5, mode: str = 'a', flag: bool = True, "
        "axes: list[int] = [0, 1], sizes: list[int] = (), y: Optional[Tensor] = None)",
    ),
    (
        kinds,
        "(x: FLOAT, /, y: T: FLOAT | DOUBLE, *rest: FLOAT[N], axis: int, "
        "beta: Optional[float] = None) -> FLOAT",
    ),
    (keyword_only, "(x: FLOAT, *, axis: int = 1) -> (FLOAT, INT64[N])"),
    (positional_only, "(x, y, /)"),
    (
        lists,
        "(a: list[int], b: list[float], c: list[str], d: Optional[list[int]] = None)",
    ),
    (sequences, "(xs: Sequence[FLOAT]) -> Sequence[FLOAT]"),
    (foreign, "(t: tensor, a: tensor, g: graph, f: graph)"),
    (
        optionals,
        "(x: Optional[FLOAT], y: Optional[FLOAT] = None, k: Optional[int] = None, "
        "n: Optional[int] = None)",
    ),
    (annotated, "(x: FLOAT[N, 3], s: float = 1.0) -> FLOAT[N]"),
    (
        quoted,
        "(x: FLOAT[N], y: Optional[FLOAT], zs: Sequence[FLOAT], k: Optional[int] = None)",
    ),
    (nothing, "(x) -> ()"),
    (old_tuple, "(x) -> (FLOAT, BOOL)"),
    (many, "(x)"),
    (some, "(x)"),
    (empty_tuple, "(x) -> ()"),
    (any_results, "(x) -> (Tensor, FLOAT)"),
    (int_for_float, "(x, alpha: float = 1, flag: bool = 0, betas: list[float] = (1, 2.5))"),
]


@each(("function", "expected"), SIGNATURES)
def test_what_it_reads(function: Callable[..., Any], expected: str) -> None:
    assert str(signature_of(function)) == expected


def test_the_data() -> None:
    sig = signature_of(kinds)
    assert [p.name for p in sig.params] == ["x", "y", "rest", "axis", "beta"]
    assert [p.name for p in sig.values] == ["x", "y", "rest"]
    assert [p.name for p in sig.attributes] == ["axis", "beta"]
    assert [p.required for p in sig.params] == [True, True, False, True, False]
    assert [p.is_variadic for p in sig.params] == [False, False, True, False, False]
    assert sig.params[0].kind is inspect.Parameter.POSITIONAL_ONLY
    assert sig.params[1].annotation is T
    assert isinstance(sig.params[1].spec, ValueSpec)
    assert sig.params[1].spec.typevar == "T"
    assert sig.params[3].spec == AttributeSpec(AttrKind.INT)
    assert sig.params[3].default is EMPTY
    assert sig.params[4].spec == AttributeSpec(AttrKind.FLOAT, optional=True)
    assert signature_of(plain).params[0].spec is None


def test_text_annotations_see_the_closure() -> None:
    Mine = FLOAT["N"]

    def inner(x: Mine) -> Mine:
        return Mine and x

    assert str(signature_of(inner)) == "(x: FLOAT[N]) -> FLOAT[N]"

    def other(x: Mine) -> FLOAT:
        return x

    # Python keeps only what a body uses; the enclosing names can be given.
    assert str(signature_of(other, localns=locals())) == "(x: FLOAT[N]) -> FLOAT"
    with pytest.raises(NameError, match="OW442"):
        signature_of(other)


def test_names_of_a_closure_win_over_globals() -> None:
    source = (
        "from __future__ import annotations\n"
        "K = DOUBLE\n"
        "def outer():\n"
        "    K = FLOAT\n"
        "    def f(x: K, y: 'K | None') -> K:\n"
        "        return K\n"
        "    return f\n"
    )
    scope: dict[str, Any] = {"FLOAT": FLOAT, "DOUBLE": DOUBLE}
    exec(source, scope)
    assert str(signature_of(scope["outer"]())) == "(x: FLOAT, y: Optional[FLOAT]) -> FLOAT"


def test_given_globals() -> None:
    scope: dict[str, Any] = {}
    exec("def f(x: 'FLOAT | DOUBLE'): pass", scope)
    with pytest.raises(NameError, match="OW442"):
        signature_of(scope["f"])
    found = signature_of(scope["f"], globalns={"FLOAT": FLOAT, "DOUBLE": DOUBLE})
    assert str(found) == "(x: FLOAT | DOUBLE)"


def test_a_wrapped_function_is_read_itself() -> None:
    import functools

    @functools.wraps(plain)
    def wrapper(a: FLOAT, axis: int = 0) -> FLOAT:
        return a

    wrapper.__annotations__ = {"a": FLOAT, "axis": int, "return": FLOAT}
    assert str(signature_of(wrapper)) == "(a: FLOAT, axis: int = 0) -> FLOAT"


def bad_parameter(x, y: complex):
    pass


def bad_result(x) -> set[int]:
    pass


def attribute_result(x) -> int:
    pass


def keywords(x, **others):
    pass


def unknown_name(x: Nowhere):
    pass


def broken_text(x: "FLOAT["):
    pass


def wrong_default(x, axis: int = 1.5):
    pass


def wrong_list_default(x, axes: list[int] = 3):
    pass


def wrong_dimension(x: FLOAT[-2]):
    pass


def mixed(x: int | FLOAT):
    pass


REFUSED: list[tuple[Callable[..., Any], str, str]] = [
    (bad_parameter, "OW440", "parameter `y` of `bad_parameter` has the annotation `complex`"),
    (bad_result, "OW440", "the result of `bad_result` has the annotation `set[int]`"),
    (attribute_result, "OW440", "the result of `attribute_result` has the annotation `int`"),
    (keywords, "OW445", "`keywords` has the parameter `**others`"),
    (unknown_name, "OW442", "parameter `x` of `unknown_name` has the annotation `Nowhere`"),
    (broken_text, "OW442", "SyntaxError"),
    (wrong_default, "OW446", "annotated `int`, but its default is `1.5`"),
    (wrong_list_default, "OW446", "annotated `list[int]`, but its default is `3`"),
    (wrong_dimension, "OW443", "`-2` is not a valid dimension of `FLOAT`"),
    (mixed, "OW441", "mixes `int` with `FLOAT`"),
]


@each(("function", "code", "words"), REFUSED)
def test_what_is_refused(function: Callable[..., Any], code: str, words: str) -> None:
    with pytest.raises(OnnxwrightError) as caught:
        signature_of(function)
    assert caught.value.diagnostic.code == code
    assert words in str(caught.value)
