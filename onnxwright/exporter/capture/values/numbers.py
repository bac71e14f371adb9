"""Numbers that are known at run time only: what Python computes with them, and what torch does.

Such a number is a symbolic number of torch, or a tensor without axes that `Session.numbers` has,
whatever it came from: a size, `item()`, `tolist()`, a truth value, the counter of a loop.  Where
torch would compute with it as with a tensor, here is what Python does: `True + True` is 2, `~True`
is -2, `3 / 2` is a double, `n += 1` leaves other names of the number alone, and a number does not
change the type of the tensor that it is added to.  A further operator is a line of `OPERATIONS`, a
further function of `math` one of `_MATH`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.control.handlers import may_raise
from onnxwright.exporter.capture.graphs.regions import tracer
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.model_lines import model_line
from onnxwright.exporter.capture.session.number_forms import NUMBERS, SYMBOLS, as_tensor
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.picking import where
from onnxwright.exporter.places import line_of

_BOTH = frozenset([False, True])


def is_unknown(value: Any) -> bool:
    """Whether a value is one number that is known at run time only, also of a tensor."""
    if not isinstance(value, torch.Tensor):
        return isinstance(value, SYMBOLS) and bool(free_unbacked_symbols(value))
    t = tracer()
    proxy = t.tensor_tracker.get(value) if t is not None and has_one_element(value) else None
    return proxy is not None and proxy.constant is None


def is_of_sizes(value: Any) -> bool:
    """Whether a value is an integer that follows from dynamic sizes of inputs."""
    if not isinstance(value, torch.SymInt) or free_unbacked_symbols(value):
        return False
    return bool(value.node.expr.free_symbols)


def has_one_element(x: torch.Tensor) -> bool:
    """Whether a tensor has one element at all sizes; sizes that are not known are not asked."""
    return all(type(n) is int and n == 1 for n in x.shape)


def stands_for_number(value: Any) -> bool:
    """Whether a value is a tensor that stands for a number of Python."""
    session = current()
    return session is not None and isinstance(value, torch.Tensor) and value in session.numbers


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python, a symbolic one, or stands for one."""
    return isinstance(value, NUMBERS) or stands_for_number(value)


def is_of_run_time(value: Any) -> bool:
    """Whether a value is a number of Python that is known at run time only."""
    return is_number(value) and is_unknown(value)


def is_of_run_time_or_size(value: Any) -> bool:
    """Whether a value is a number that the model knows, or a size that may change."""
    return isinstance(value, SYMBOLS) or is_of_run_time(value)


def number(value: torch.Tensor) -> torch.Tensor:
    """A tensor that stands for a number of Python."""
    session = current()
    if session is not None:
        session.numbers.add(value)
    return value


# -- operators -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """An operator of Python on numbers.

    Fields:
        python: computes with numbers that are known.
        torch: computes with tensors of one type; truth values are integers, but of comparisons.
        spellings: the names of functions and methods of torch that stand for it.
        gives: what results are: "numbers", "floats", "truths", or "bits" where those of two truth
            values are truth values.
        raises: the errors of Python for some values of the second operand.
    """

    python: Callable[..., Any]
    torch: Callable[..., Any]
    spellings: tuple[str, ...]
    gives: str = "numbers"
    raises: tuple[type[Exception], ...] = ()


def _power(base: Any, exponent: Any) -> Any:
    """`base ** exponent`: of two integers an integer, which has no negative exponent."""
    if all(_kind(value) == 1 for value in (base, exponent)):
        if isinstance(exponent, int):
            return torch.pow(base if exponent >= 0 else base.double(), exponent)
        # Python gives a float for a negative exponent: an error of the model.
        none, place = torch.zeros(1, dtype=torch.int64), torch.where(as_tensor(exponent) < 0, 1, 0)
        exponent = exponent + torch.ops.aten.index.Tensor(none, [place])
    return torch.pow(base, exponent)


_BY_ZERO = (ZeroDivisionError,)

OPERATIONS: dict[str, Operation] = {
    "add": Operation(operator.add, torch.add, ("add",)),
    "sub": Operation(operator.sub, torch.sub, ("sub", "subtract")),
    "mul": Operation(operator.mul, torch.mul, ("mul", "multiply")),
    "truediv": Operation(
        operator.truediv,
        torch.true_divide,
        ("div", "divide", "true_divide", "truediv"),
        "floats",
        raises=_BY_ZERO,
    ),
    "floordiv": Operation(
        operator.floordiv, torch.floor_divide, ("floor_divide", "floordiv"), raises=_BY_ZERO
    ),
    "mod": Operation(operator.mod, torch.remainder, ("remainder", "mod"), raises=_BY_ZERO),
    "pow": Operation(operator.pow, _power, ("pow",), raises=(*_BY_ZERO, OverflowError)),
    "neg": Operation(operator.neg, torch.neg, ("neg", "negative")),
    "pos": Operation(operator.pos, torch.positive, ("pos", "positive")),
    "abs": Operation(abs, torch.abs, ("abs", "absolute")),
    "invert": Operation(operator.invert, torch.bitwise_not, ("invert", "bitwise_not")),
    "lshift": Operation(
        operator.lshift,
        torch.bitwise_left_shift,
        ("lshift", "bitwise_left_shift"),
        raises=(ValueError,),
    ),
    "rshift": Operation(
        operator.rshift,
        torch.bitwise_right_shift,
        ("rshift", "bitwise_right_shift"),
        raises=(ValueError,),
    ),
    "and_": Operation(operator.and_, torch.bitwise_and, ("and", "bitwise_and"), "bits"),
    "or_": Operation(operator.or_, torch.bitwise_or, ("or", "bitwise_or"), "bits"),
    "xor": Operation(operator.xor, torch.bitwise_xor, ("xor", "bitwise_xor"), "bits"),
    "eq": Operation(operator.eq, torch.eq, ("eq",), "truths"),
    "ne": Operation(operator.ne, torch.ne, ("ne", "not_equal"), "truths"),
    "lt": Operation(operator.lt, torch.lt, ("lt", "less"), "truths"),
    "le": Operation(operator.le, torch.le, ("le", "less_equal"), "truths"),
    "gt": Operation(operator.gt, torch.gt, ("gt", "greater"), "truths"),
    "ge": Operation(operator.ge, torch.ge, ("ge", "greater_equal"), "truths"),
}
"""Operators of Python, by the names that the module `operator` has for them."""

_SPELLED: dict[Any, tuple[str, bool]] = {}
"""Functions of torch -> the operator that they stand for, and whether it takes its operands the
other way round."""
for _name, _operation in OPERATIONS.items():
    for _spelling in _operation.spellings:
        for _form in ("{}", "__{}__", "{}_", "__i{}__", "r{}", "__r{}__"):
            for _home in (torch, torch.Tensor):
                _function = getattr(_home, _form.format(_spelling), None)
                if callable(_function):
                    _swapped = _form.endswith(("r{}", "__r{}__"))
                    _SPELLED.setdefault(_function, (_name, _swapped))

# Other functions that take a number beside a tensor, element by element.
_ELEMENTWISE = frozenset(
    getattr(home, name)
    for name in ("where", "clamp", "clamp_min", "clamp_max", "fmod", "float_power", "xlogy")
    for home in (torch, torch.Tensor)
)


_MAKERS = (torch.tensor, torch.as_tensor, torch.asarray, torch.scalar_tensor)


def as_new_tensor(value: torch.Tensor, dtype: Any = None, **options: Any) -> torch.Tensor:
    """`torch.tensor(n)`: floats of Python have the default type."""
    own = torch.get_default_dtype() if value.is_floating_point() else value.dtype
    return value.to(options.get("device"), dtype or own, copy=True)


def computed(function: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """What an operator of torch gives with numbers; None where it is called as it is.

    Args:
        function: of torch.
        args, kwargs: its arguments.
    """
    name, swapped = _SPELLED.get(function, ("", False))
    if function in _MAKERS and args:
        # `scalar_tensor` takes a condition as it is.
        is_condition = isinstance(args[0], torch.SymBool) and function is not torch.scalar_tensor
        if is_condition or stands_for_number(args[0]):
            return as_new_tensor(as_tensor(args[0]), **kwargs)
    if not name and function not in _ELEMENTWISE:
        return None
    if not any(isinstance(a, torch.SymBool) or stands_for_number(a) for a in args):
        return None
    if name and not kwargs and all(map(is_number, args)):
        return operation(name, *(reversed(args) if swapped else args))
    tensors = [a for a in args if isinstance(a, torch.Tensor) and not stands_for_number(a)]
    is_mask = [not name and isinstance(a, torch.Tensor) and _kind(a) == 0 for a in args]
    operands = (a if kept else _beside(a, tensors) for a, kept in zip(args, is_mask))
    return function(*operands, **kwargs)


def operation(name: str, *operands: Any) -> Any:
    """What an operator of Python gives of numbers of run time.

    Args:
        name: the operator, such as "add".
        operands: numbers.

    Returns:
        A tensor that stands for a number.
    """
    session, own = current(), OPERATIONS[name]
    picked = _of_candidates(own.python, operands)
    if picked is not None and own.gives == "truths":
        tag, answers = picked
        if not any(tag is v for v in operands):
            return where(tag, answers)
    refuse_caught(own, operands)
    result_tensor = own.torch(*_prepared(own, operands))
    assert session is not None
    if own.gives != "truths" and result_tensor.is_floating_point():
        session.numbers.note_types(result_tensor, _types_of_result(own, operands))
    if picked is None:
        session.numbers.add(result_tensor, _BOTH if own.gives == "truths" else frozenset())
        return result_tensor
    tag, results = picked
    if own.gives == "truths":  # a decision chose the number: it is its own tag
        session.numbers.add(result_tensor, _BOTH)
        session.truths.define(
            result_tensor, "is", tag, {n for n, v in results.items() if v}, set(results)
        )
        return result_tensor
    session.numbers.add(result_tensor, frozenset(v for v in results.values() if isinstance(v, int)))
    session.numbers.pick(result_tensor, tag, results)
    return result_tensor


def _types_of_result(own: Operation, operands: Sequence[Any]) -> frozenset[type]:
    """The classes of Python that a result may be of: a float beside any number gives floats."""
    session = current()
    assert session is not None
    types = [session.numbers.types(v) for v in operands]
    if own.gives == "floats" or any(one == {float} for one in types):
        return frozenset([float])
    return frozenset([int, float] if any(float in one for one in types) else [int])


def refuse_caught(own: Operation, operands: Sequence[Any]) -> None:
    """Refuse an operator that may raise an error which the model catches."""
    if own.raises and is_unknown(operands[1]):
        may_raise(*own.raises)


def _of_candidates(python: Any, operands: Sequence[Any]) -> tuple[Any, dict[int, Any]] | None:
    """What is computed of the one operand that is one of a few numbers, for each of these.

    So a decision by `x.ndim`, or by the length of a tuple, knows the candidate on its sides.
    """
    session = current()
    assert session is not None
    several = [n for n, v in enumerate(operands) if len(session.numbers.choices(v)) > 1]
    others = [v for n, v in enumerate(operands) if n not in several]
    if len(several) != 1 or not all(isinstance(v, (int, float)) for v in others):
        return None
    tag, numbers = candidates_of(operands[several[0]])
    before, after = operands[: several[0]], operands[several[0] + 1 :]
    try:
        return tag, {n: python(*before, v, *after) for n, v in numbers.items()}
    except ArithmeticError:
        return None


def candidates_of(number: Any) -> tuple[Any, dict[int, Any]]:
    """The tag that picks a number, and the numbers: one that a decision chose is its own tag."""
    session = current()
    assert session is not None
    own = number, {n: n for n in session.numbers.choices(number)}
    return session.numbers.picked(number) or own


def _prepared(own: Operation, operands: Sequence[Any]) -> list[Any]:
    """Operands as torch computes what Python does with them."""
    if any(isinstance(v, int) and not -(2**63) <= v < 2**63 for v in operands):
        reason = "an integer of more than 64 bits beside a number that is known at run time only"
        advice = "the model computes with INT64: keep numbers below `2**63`"
        raise CannotRewriteError(reason, line_of(*model_line()), advice)
    kinds = list(map(_kind, operands))
    if own.gives == "truths" or (own.gives == "bits" and max(kinds) == 0):
        prepared = [as_tensor(v) if isinstance(v, torch.SymBool) else v for v in operands]
    else:
        prepared = [as_tensor(v, torch.int64) if k == 0 and not isinstance(v, bool) else v
                for k, v in zip(kinds, operands)]  # fmt: skip
    prepared = [as_tensor(v) if isinstance(v, torch.SymFloat) else v for v in prepared]
    tensors = [v for v in prepared if isinstance(v, torch.Tensor)]
    if not tensors:
        prepared[0] = as_tensor(prepared[0])
        tensors = prepared[:1]
    is_float = own.gives == "floats" or max(kinds) == 2
    if is_float and not any(v.is_floating_point() for v in tensors):
        prepared = [v.double() if isinstance(v, torch.Tensor) else v for v in prepared]
    return prepared


def _kind(value: Any) -> int:
    """0 for a truth value, 1 for an integer, 2 for a float."""
    if isinstance(value, torch.Tensor):
        above = value.is_floating_point() or value.is_complex()
        return 2 if above else int(value.dtype != torch.bool)
    if isinstance(value, (bool, torch.SymBool)):
        return 0
    return 1 if isinstance(value, (int, torch.SymInt)) else 2


def _beside(value: Any, tensors: Sequence[torch.Tensor]) -> Any:
    """A number as it is beside tensors: it is of their type, or of a kind above that."""
    if isinstance(value, torch.SymBool):
        return as_tensor(value)
    if not stands_for_number(value) or not tensors:
        return value
    first = max(tensors, key=_kind)
    kind = _kind(value)
    if kind > _kind(first):
        dtype = torch.get_default_dtype() if kind == 2 else torch.int64
    else:
        dtype = first.dtype
    is_above = any(x.ndim for x in tensors) and kind <= _kind(first)
    return value if is_above or value.dtype == dtype else value.to(dtype)


# -- functions of `math` ---------------------------------------------------------------------------


def _whole(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: function(x).to(torch.int64)


def _log(x: Any, base: Any = None) -> Any:
    return torch.log(x) if base is None else torch.log(x) / torch.log(base)


_MATH: dict[Any, Callable[..., Any]] = {
    math.sqrt: torch.sqrt, math.exp: torch.exp, math.expm1: torch.expm1, math.log: _log,
    math.log2: torch.log2, math.log10: torch.log10, math.log1p: torch.log1p, math.pow: torch.pow,
    math.sin: torch.sin, math.cos: torch.cos, math.tan: torch.tan, math.asin: torch.asin,
    math.acos: torch.acos, math.atan: torch.atan, math.atan2: torch.atan2, math.sinh: torch.sinh,
    math.cosh: torch.cosh, math.tanh: torch.tanh, math.fabs: torch.abs, math.fmod: torch.fmod,
    math.hypot: torch.hypot, math.erf: torch.erf, math.erfc: torch.erfc,
    math.degrees: torch.rad2deg, math.radians: torch.deg2rad, math.copysign: torch.copysign,
    math.isnan: torch.isnan, math.isinf: torch.isinf, math.isfinite: torch.isfinite,
    math.floor: _whole(torch.floor), math.ceil: _whole(torch.ceil), math.trunc: _whole(torch.trunc),
}  # fmt: skip
"""Functions of `math` -> what computes them of doubles, as Python's numbers are."""

# PyTorch has these for symbolic numbers.
_OF_SYMBOLS = (math.floor, math.ceil, math.trunc)


def math_(function: Any, *args: Any) -> Any:
    """`math.sqrt(x)` and the like; any other function is called as it is.

    Raises:
        CannotRewriteError: a function without an operator is called with a number that is known at
            run time only.
    """
    session = current()
    if getattr(function, "__module__", None) != "math":
        return bound(function)(*args)
    if session is None or tracer() is None or not any(map(_is_open, args)):
        return function(*args)
    if function in _OF_SYMBOLS and isinstance(args[0], SYMBOLS):
        return function(*args)
    if function in _MATH:
        may_raise(ValueError, OverflowError)
        return number(_MATH[function](*map(_as_double, args)))
    if function is math.gcd and len(args) == 2:
        return number(torch.gcd(*(as_tensor(n, torch.int64).reshape(()) for n in args)))
    if any(map(is_unknown, args)):
        reason = f"`math.{function.__name__}` of a number that is known at run time only"
        advice = "compute it with operators of PyTorch, or of a number that Python knows"
        raise CannotRewriteError(reason, line_of(*model_line()), advice)
    return function(*args)


def is_integer(value: Any) -> Any:
    """`value.is_integer()`: not of NaN and infinity, of which the difference is NaN."""
    exact = _as_double(value)
    return number(exact - torch.floor(exact) == 0)


def _is_open(value: Any) -> bool:
    """Whether a number is symbolic, or a tensor that is known at run time only."""
    if isinstance(value, SYMBOLS):
        return value.node.constant is None
    return is_unknown(value)


def _as_double(value: Any) -> Any:
    value = as_tensor(value) if isinstance(value, torch.SymInt) else value
    return as_tensor(value, torch.float64).reshape(())
