"""Every form of annotation; `mypy --strict` and `pyright` accept this file without an ignore.

Type checkers take what stands in square brackets after a class for types, so `FLOAT["N", 3]` is
written `Annotated[FLOAT, "N", 3]` or `Annotated[FLOAT, Shape["N", 3]]` where they are to read it;
all three mean the same.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Optional, TypeVar, Union

import numpy as np
import numpy.typing as npt
import onnx

from onnxwright import DOUBLE, FLOAT, INT64, Opset, Shape, Tensor, script
from onnxwright import opset18 as op

T = TypeVar("T", FLOAT, DOUBLE)
Real = TypeVar("Real", bound=Union[FLOAT, DOUBLE])
Image = Annotated[FLOAT, Shape["N", 3, "H", "W"]]
custom = Opset("my.domain", 1)


# Tensors.


@script()
def any_shape(x: FLOAT, y: FLOAT) -> FLOAT:
    """`FLOAT` is a tensor of any shape."""
    return op.Add(x, y) + 1


@script()
def with_a_shape(x: Annotated[FLOAT, Shape["N", 3]]) -> Annotated[FLOAT, Shape[3]]:
    """Numbers, names, and None for a dimension nobody knows."""
    return x[0, :] * 2.0


@script()
def short_form(x: Annotated[FLOAT, "N", 3]) -> Annotated[FLOAT, "N"]:
    """Dimensions right behind the class."""
    return op.ReduceSum(x, [1], keepdims=0)


@script()
def a_scalar(x: Annotated[FLOAT, Shape["N"]]) -> Annotated[FLOAT, Shape[()], "the sum"]:
    """`Shape[()]` is a scalar; words beside it are documentation."""
    return op.ReduceSum(x, keepdims=0)


@script()
def an_alias(image: Image) -> Image:
    """A name for a type."""
    return op.Relu(-image)


@script()
def any_tensor(x: Tensor, like: Tensor) -> Tensor:
    """`Tensor` is a tensor of any element type."""
    return op.CastLike(x, like)


@script()
def a_union(x: FLOAT | DOUBLE) -> FLOAT | DOUBLE:
    """One of several element types."""
    return op.Sqrt(op.Abs(x))


@script()
def the_same_type(x: T, y: T) -> T:
    """A TypeVar: one of its types, the same everywhere."""
    z = op.Mul(x, y)
    return z / (y + 1)


@script()
def the_same_bound(x: Real) -> Real:
    """A TypeVar with a bound means the same."""
    return op.Sub(op.Exp(x), x)


@script()
def several_results(x: FLOAT, k: INT64) -> tuple[FLOAT, INT64]:
    """A tuple of results, from an operator with several outputs."""
    values, indices = op.TopK(x, k, axis=-1)
    return values, indices


@script()
def an_optional_input(x: FLOAT, low: Optional[FLOAT] = None) -> FLOAT:  # noqa: UP045 - as above
    """An input that may be left out."""
    return op.Clip(x, low)


@script()
def a_sequence(xs: Sequence[FLOAT]) -> FLOAT:
    """An ONNX sequence of tensors."""
    return op.ConcatFromSequence(xs, axis=0)


@script()
def makes_a_sequence(x: FLOAT) -> Sequence[FLOAT]:
    """As a result too."""
    return op.SplitToSequence(x, axis=0)


@script()
def any_number(*xs: FLOAT) -> FLOAT:
    """As many inputs as a call has."""
    return op.Sum(*xs)


# Attributes.


@script()
def numbers(x: FLOAT, alpha: float, axis: int = -1, flag: bool = True) -> FLOAT:
    """Python numbers are attributes."""
    y = op.Softmax(x, axis=axis) if flag else x
    return y * alpha


@script()
def a_text(x: FLOAT, mode: Literal["linear", "cubic"] = "linear", pad: str = "edge") -> FLOAT:
    """So are texts, and a choice of them."""
    return op.Resize(op.Pad(x, [1, 1], mode=pad), None, [2.0], mode=mode)


@script()
def lists(x: FLOAT, perm: Sequence[int], scales: tuple[float, ...] = (1.0,)) -> FLOAT:
    """So are lists of them."""
    return op.Transpose(x, perm=perm) * op.Constant(value_floats=scales)


@script()
def optional_attributes(
    x: FLOAT, end: int | None = None, axis: Annotated[int, "counted from the front"] = 0
) -> INT64:
    """`None` is an attribute that is not given."""
    return op.Shape(x, start=axis, end=end)


def constants(x: FLOAT, a: npt.NDArray[np.float32], b: onnx.TensorProto) -> FLOAT:
    """Arrays and TensorProtos are tensor attributes; a callable is a graph."""
    return x + op.Constant(value=b) + a


def a_graph(condition: Tensor, body: Callable[..., Any]) -> FLOAT:
    """A callable is a graph."""
    return op.If(condition, then_branch=body, else_branch=body)


# Element types are values.


@script()
def element_types(x: Tensor) -> DOUBLE:
    """An attribute that names an element type takes its class, its number or numpy's."""
    y = op.Cast(x, to=FLOAT)
    z = op.Cast(y, to=np.float16) + op.Cast(y, to=FLOAT.dtype)
    return op.Cast(custom.Noise(z), to=DOUBLE)


# Functions keep their types when they call each other.


@script()
def calls(x: FLOAT, y: FLOAT) -> FLOAT:
    """What a function returns has the type it promises."""
    total = any_shape(x, y)
    both = the_same_type(total, y)
    values, _ = several_results(both, op.Constant(value_ints=[1]))
    flags = (values > 0) & (values <= 9)
    return op.Where(flags, values, -values)[..., 0]


FUNCTIONS: list[Any] = [any_shape, with_a_shape, a_scalar, an_alias, any_tensor, a_union]
FUNCTIONS += [the_same_type, the_same_bound, several_results, an_optional_input, a_sequence]
FUNCTIONS += [makes_a_sequence, any_number, numbers, a_text, lists, optional_attributes]

for function in FUNCTIONS:
    print(f"{function.__name__}{function.signature}")

# Functions run on numpy arrays; `Any` keeps type checkers from objecting.
x: Any = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
print(calls(x, x))
np.testing.assert_allclose(calls(x, x), ((2 * x + 1) * x / (x + 1)).max(axis=-1), rtol=1e-6)
