"""Rules of ATen functions: which arguments are promoted together, and the type of the result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from onnxwright.atenlib.complexes import Complex, as_complex
from onnxwright.atenlib.helpers.constants import number, scalar
from onnxwright.atenlib.protocols import Op
from onnxwright.semantics.backend import is_value
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import (
    Operand,
    Promotion,
    compute_type,
    output_type,
    promote_types,
    real_of,
)

# The element type that torch gives a Python number of each kind.
DEFAULT_TYPES: dict[type, DType] = {
    bool: DType.BOOL,
    int: DType.INT64,
    float: DType.FLOAT,
    complex: DType.COMPLEX64,
}
_WEAK = {"bool": DType.BOOL, "int": DType.INT64, "float": DType.FLOAT}


def operand_of(op: Op, x: Any) -> Operand:
    """The element type and the strength of an argument, for type promotion.

    Args:
        x: a tensor value, a `Complex`, a Python number, or a value that represents one.

    Raises:
        TypeError: it is none of these, or its type is not known.
    """
    default = DEFAULT_TYPES.get(type(x))
    if default is not None:
        return default, "number"
    if isinstance(x, Complex):
        return x.onnx_dtype, "tensor" if x.rank else "zerodim"
    if is_value(x):
        weak = op.backend.weak_kind(x)
        if weak is not None:
            return _WEAK[weak], "number"
        dtype = x.onnx_dtype
        if dtype is not None:
            return dtype, "zerodim" if x.rank == 0 else "tensor"
    raise TypeError(f"expected a tensor or number of known type, got {x!r}")


def computed_type(promoted: Sequence[Any]) -> DType:
    """The element type that promoted arguments have; that of the numbers if there are no tensors.

    Args:
        promoted: arguments after `Rule.prepare`.
    """
    for x in promoted:
        if isinstance(x, Complex) or is_value(x):
            dtype: DType = x.onnx_dtype
            return dtype
    numbers = [DEFAULT_TYPES[type(x)] for x in promoted if type(x) in DEFAULT_TYPES]
    return functools.reduce(promote_types, numbers)


def wrap_number(op: Op, arguments: dict[str, Any], name: str, dtype: DType) -> None:
    """Make a value without dimensions of an argument that is a Python number.

    Args:
        arguments: the arguments by name, changed in place.
        dtype: the element type of the value.
    """
    x = arguments[name]
    if dtype.is_complex:
        arguments[name] = as_complex(op, x, real_of(dtype))
    else:
        arguments[name] = scalar(op, x, dtype)


@dataclass(frozen=True)
class Rule:
    """What happens to arguments before a body runs, and the type of what it returns.

    The base rule changes nothing and promises nothing.
    """

    def prepare(self, op: Op, arguments: dict[str, Any]) -> DType | None:
        """Cast the arguments in place.

        Args:
            op: the operators.
            arguments: the arguments by name.

        Returns:
            The element type of the (first) result, None if the rule does not say.
        """
        return None

    @property
    def promoted(self) -> tuple[str, ...]:
        """The arguments that are cast to one type, in which a Python number among them is read."""
        return ()

    @property
    def every_result(self) -> bool:
        """Whether all results have the type, and not only the first."""
        return False


@dataclass(frozen=True)
class Elementwise(Rule):
    """Arguments are promoted together; the result has the promoted type, or what it implies."""

    over: tuple[str, ...]
    promote: Promotion
    at_least: DType | None = None
    no_bfloat16: bool = False

    @property
    def promoted(self) -> tuple[str, ...]:
        """All of them."""
        return self.over

    def prepare(self, op: Op, arguments: dict[str, Any]) -> DType | None:
        """Cast the arguments named in `over` to their common type."""
        flat: list[Any] = []
        for name in self.over:
            value = arguments.get(name)
            flat.extend(value if isinstance(value, (list, tuple)) else [value])
        operands = [operand_of(op, x) for x in flat if x is not None]
        computed = compute_type(self.promote, operands)
        inside = computed
        if self.at_least is not None and computed.is_float and computed.bits < self.at_least.bits:
            inside = self.at_least
        elif self.no_bfloat16 and computed is DType.BFLOAT16:
            inside = DType.FLOAT
        for name in self.over:
            value = arguments.get(name)
            if isinstance(value, (list, tuple)):
                arguments[name] = [_to(op, x, inside) for x in value]
            elif value is not None:
                arguments[name] = _to(op, value, inside)
        return output_type(self.promote, computed)


@dataclass(frozen=True)
class Reduction(Rule):
    """One tensor is reduced; `dtype` says in which type, else its category decides."""

    over: str
    promote: Promotion

    def prepare(self, op: Op, arguments: dict[str, Any]) -> DType | None:
        """Cast the tensor to the type the reduction is done in."""
        x = arguments[self.over]
        dtype = arguments.get("dtype")
        own: DType = x.onnx_dtype
        if dtype is not None:
            computed = dtype
        elif self.promote == "bool_to_long" and (own.is_integer or own.is_bool):
            computed = DType.INT64
        else:
            computed = compute_type(self.promote, [(own, "tensor")])
        arguments[self.over] = _to(op, x, computed)
        return output_type(self.promote, computed)


@dataclass(frozen=True)
class Like(Rule):
    """The result has the element type of an argument."""

    name: str

    def prepare(self, op: Op, arguments: dict[str, Any]) -> DType | None:
        """Nothing is cast."""
        value = arguments[self.name]
        if isinstance(value, (list, tuple)):
            value = value[0]
        dtype: DType | None = value.onnx_dtype
        return dtype


@dataclass(frozen=True)
class Creation(Rule):
    """The result has the type that `dtype` says, else that of an argument, else FLOAT."""

    name: str = "dtype"
    like: str | None = None

    def prepare(self, op: Op, arguments: dict[str, Any]) -> DType | None:
        """Fill in `dtype`."""
        if arguments.get(self.name) is None:
            arguments[self.name] = arguments[self.like].onnx_dtype if self.like else DType.FLOAT
        dtype: DType = arguments[self.name]
        return dtype


@dataclass(frozen=True)
class Custom(Rule):
    """A function of the arguments (by name) says the type of the result."""

    function: Callable[[dict[str, Any]], DType | None] | None = None

    def prepare(self, op: Op, arguments: dict[str, Any]) -> DType | None:
        """Nothing is cast."""
        return None if self.function is None else self.function(arguments)


def elementwise(
    over: tuple[str, ...] | str = ("self",),
    promote: Promotion = "default",
    at_least: DType | None = None,
    no_bfloat16: bool = False,
) -> Rule:
    """Arguments are promoted together, as torch's elementwise operators do.

    Args:
        over: names of the arguments; one that is a list counts with its members; None is passed
            over.
        promote: the category of promotion.
        at_least: the narrowest float type to compute in; the result is rounded once to its own
            type, as torch does for FLOAT16 and BFLOAT16.
        no_bfloat16: compute BFLOAT16 in FLOAT, for operators that did not have it at first.

    Returns:
        The rule.

    Source: torch's elementwise type promotion kinds.

    Example:
        >>> elementwise(("self", "other"), promote="always_bool").promote
        'always_bool'
    """
    return Elementwise(
        (over,) if isinstance(over, str) else tuple(over), promote, at_least, no_bfloat16
    )


def reduction(over: str = "self", promote: Promotion = "default") -> Rule:
    """A tensor is reduced in the type of the `dtype` argument, else by its category.

    With `bool_to_long` every integer becomes INT64, as torch's sum and prod do.

    Args:
        over: the name of the tensor argument.
        promote: the category of promotion.

    Returns:
        The rule.

    Source: torch.sum, torch.mean.

    Example:
        >>> reduction(promote="bool_to_long").over
        'self'
    """
    return Reduction(over, promote)


def like(name: str = "self") -> Rule:
    """The result has the element type of an argument, nothing is cast.

    Example:
        >>> like("weight").name
        'weight'
    """
    return Like(name)


def creation(name: str = "dtype", like: str | None = None) -> Rule:
    """The result has the type of the argument `name`, which is filled in where it is None.

    Args:
        name: the argument that says the element type.
        like: the tensor argument whose type is taken where `name` is None; FLOAT if there is
            none (torch's default type).

    Returns:
        The rule.

    Example:
        >>> creation(like="self").like
        'self'
    """
    return Creation(name, like)


def custom(function: Callable[[dict[str, Any]], DType | None] | None = None) -> Rule:
    """The body casts for itself; the result's type is what `function(arguments)` says, if given.

    Example:
        >>> custom(lambda a: DType.INT64).prepare(None, {}).name
        'INT64'
    """
    return Custom(function)


def _to(op: Op, x: Any, dtype: DType) -> Any:
    """An argument in the type to compute in; Python numbers stay (a call types them)."""
    if dtype.is_complex:
        return as_complex(op, x, real_of(dtype))
    if isinstance(x, Complex):
        # Only an explicit `dtype` asks for this; torch drops the imaginary part, too.
        x = x.real
    if not is_value(x):
        return number(x, dtype)
    weak = op.backend.weak_kind(x)
    if weak is not None:
        x = op.backend.as_weak(x, None)
    return x if x.onnx_dtype is dtype else op.Cast(x, to=dtype)


__all__ = [
    "Rule",
    "creation",
    "custom",
    "elementwise",
    "like",
    "operand_of",
    "promote_types",
    "reduction",
]
