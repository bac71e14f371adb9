"""A script run eagerly: its plain Python function on tensors, arguments checked before it starts.

Results come back in the kind that went in; inside another script values pass as they are.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any, NoReturn

import numpy as np

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.eager import foreign, select
from onnxwright.eager.arrays import as_array
from onnxwright.eager.dispatch import own_list
from onnxwright.eager.tensor import ConstantTensor, Tensor, constant, wrap
from onnxwright.eager.values import MapValue, SequenceValue, show_value, type_of_value
from onnxwright.opset.attributes import OutOfRangeError, WrongTypeError, is_tensor_value, normalizer
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.literals import DEFAULT_DTYPE, is_number_like, plain_kind
from onnxwright.types.annotations import AttributeSpec, ValueSpec
from onnxwright.types.code_cache import cached_by_code
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import AttrKind, OnnxType, SequenceType, TensorType, fits
from onnxwright.types.roles import BackendValue
from onnxwright.types.signature import FunctionSignature, Param

_KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
_POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
_ONE_ELEMENT = ((), (1,))


def call_function(
    function: Callable[..., Any],
    signature: FunctionSignature,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    opset: Opset | None = None,
    name: str | None = None,
) -> Any:
    """Run a script function eagerly.

    Args:
        function: the plain Python function.
        signature: its signature, as `types.signature` reads it.
        args: positional arguments as the caller gave them.
        kwargs: keyword arguments; `_evaluator=` chooses who runs this call.
        opset: where operators such as `+` come from; the caller's, or the default, if not given.
        name: its name in messages.

    Returns:
        What the function returns, as arrays for arrays and tensors for tensors.

    Raises:
        EagerTypeError: the arguments do not fit the signature (OW605, OW606), or the result
            contradicts it (OW607).
    """
    if "_evaluator" in kwargs:
        rest = {k: v for k, v in kwargs.items() if k != "_evaluator"}
        with select.evaluator(kwargs["_evaluator"]):
            return call_function(function, signature, args, rest, opset=opset, name=name)
    shown_name = name or str(getattr(function, "__name__", "function"))
    outer = select.running()
    code = getattr(function, "__code__", None)
    writes = code is not None and _writes_items(code)
    call = _Call(shown_name, signature, inside=outer is not select.TOP, writes=writes)
    kind = foreign.kind_of((*args, *kwargs.values()), inside=outer is not select.TOP)
    positional, named = call.bind(args, kwargs)
    with select.frame(opset or outer.opset, shown_name):
        result = function(*positional, **named)
        results = call.results(result)
    if isinstance(results, tuple):
        return tuple(foreign.give_back(r, kind) for r in results)
    return foreign.give_back(results, kind)


def _stays_number(spec: Any, value: Any) -> bool:
    """Whether a number stays one, to take the type of the tensor it meets: no type is asked for."""
    if not isinstance(value, (bool, int, float)) or isinstance(value, np.generic):
        return False
    return spec is None or (isinstance(spec, ValueSpec) and not spec.types and not spec.typevar)


@cached_by_code
def _writes_items(code: CodeType) -> bool:
    """Whether a function has `x[i] = value`, itself or in a function inside it."""
    if any(one.opname in ("STORE_SUBSCR", "STORE_SLICE") for one in dis.get_instructions(code)):
        return True
    return any(_writes_items(one) for one in code.co_consts if isinstance(one, CodeType))


_RETURN_ADVICE = "return what is annotated, or change the annotation"


class _Call:
    """One call: its arguments made tensors and checked, its results likewise."""

    def __init__(
        self,
        name: str,
        signature: FunctionSignature,
        *,
        inside: bool = False,
        writes: bool = False,
    ) -> None:
        self.name = name
        self.writes = writes
        self.signature = signature
        # Whether another script calls: as when it is compiled, a scalar represents one element.
        self.inside = inside
        # The type of each TypeVar in this call, and the parameter that determined it.
        self.bound: dict[str, tuple[DType, str]] = {}

    # -- arguments -------------------------------------------------------------------------------

    def bind(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as the function is given them."""
        pairs, rest = self._pair(args, kwargs)
        bound: dict[str, Any] = {}
        # Tensors first: a number takes the type of the tensor that shares its TypeVar.
        later = []
        for param, value in pairs:
            if isinstance(param.spec, ValueSpec) and param.spec.typevar and is_number_like(value):
                later.append((param, value))
            else:
                bound[param.name] = self._argument(param, value)
        for param, value in later:
            bound[param.name] = self._argument(param, value)
        extra = [
            self._argument(param, value) for param in self.signature.params if param.is_variadic
            for value in rest
        ]  # fmt: skip
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for param in self.signature.params:
            if param.is_variadic:
                positional.extend(extra)
            elif param.name not in bound:
                # NOTE: a default of the function itself; what follows has to go by name.
                continue
            elif param.kind is _KEYWORD_ONLY or self._skipped_before(param, bound):
                named[param.name] = bound[param.name]
            else:
                positional.append(bound[param.name])
        return positional, named

    def _skipped_before(self, param: Param, bound: Mapping[str, Any]) -> bool:
        for other in self.signature.params:
            if other is param:
                return False
            if not other.is_variadic and other.name not in bound:
                return True
        return False

    def _pair(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[tuple[Param, Any]], Sequence[Any]]:
        """Each parameter with its argument, and what is left for `*args`."""
        slots = [
            p for p in self.signature.params if p.kind is not _KEYWORD_ONLY and not p.is_variadic
        ]
        variadic = any(p.is_variadic for p in self.signature.params)
        if len(args) > len(slots) and not variadic:
            most = f"{len(slots)} positional argument{'s' * (len(slots) != 1)}"
            self._no_fit(f"it takes {most}, {len(args)} were given")
        pairs = list(zip(slots, args, strict=False))
        paired = {param.name for param, _ in pairs}
        numbers = {
            p.name: p
            for p in self.signature.params
            if p.kind is not _POSITIONAL_ONLY and not p.is_variadic
        }
        for key, value in kwargs.items():
            if key not in numbers:
                if getattr(select.current(), "ignore_unknown_function_kwargs", False):
                    continue
                self._no_fit(f"it has no parameter `{key}`")
            if key in paired:
                self._no_fit(f"`{key}` is given twice")
            pairs.append((numbers[key], value))
            paired.add(key)
        for param in self.signature.params:
            if param.name in paired or param.is_variadic:
                continue
            if param.required:
                self._no_fit(f"`{param.name}` is missing")
            if not param.is_attribute and param.default is not None:
                pairs.append((param, param.default))
        return pairs, args[len(slots) :]

    def _no_fit(self, reason: str) -> NoReturn:
        fail(
            messages.CallDoesNotFit(
                function=self.name, reason=reason, signature=str(self.signature)
            )
        )

    def _argument(self, param: Param, value: Any) -> Any:
        spec = param.spec
        if isinstance(spec, AttributeSpec):
            return self._attribute(param, spec, value)
        if value is None:
            if spec is None or spec.optional or param.default is None:
                return None
            self._wrong(param.name, str(spec), "None", "give a tensor; the parameter is required")
        if _stays_number(spec, value):
            return value
        tensor = self._tensor(param.name, spec, value)
        if spec is not None:
            self._check(param.name, spec, tensor)
        if self.writes and type(tensor) in (Tensor, ConstantTensor):
            return wrap(tensor.value)  # what the function writes into is its own
        return tensor

    def _attribute(self, param: Param, spec: AttributeSpec, value: Any) -> Any:
        """An attribute stays a plain Python value."""
        if value is None:
            if spec.optional or param.default is None:
                return None
            self._wrong(param.name, str(spec), "None", "give a value; the attribute is required")
        convert = normalizer(spec.kind)
        try:
            attribute: Any = convert(value)
            if spec.kind is AttrKind.BOOL:
                return bool(attribute)
            return [bool(one) for one in attribute] if spec.kind is AttrKind.BOOLS else attribute
        except (WrongTypeError, OutOfRangeError):
            pass
        advice = f"give a Python {spec.kind.python}"
        if is_tensor_value(value):
            advice += "; an attribute is not a tensor: `.item()` gives the number of a tensor"
            self._wrong(param.name, f"the attribute {spec}", f"a tensor {_show(value)}", advice)
        self._wrong(param.name, f"the attribute {spec}", _show(value), advice)

    def _tensor(self, name: str, spec: ValueSpec | None, value: Any) -> Any:
        """An argument as a tensor, sequence or map."""
        if isinstance(value, BackendValue):
            return foreign.own_sequence(value)
        array = value if isinstance(value, np.ndarray) else foreign.to_array(value)
        if array is not None:
            return wrap(as_array(array))
        if isinstance(value, Mapping):
            return MapValue(value)
        if isinstance(value, (list, tuple)) and (
            not is_number_like(value) or _only_sequences(spec)
        ):
            if _only_sequences(spec) or spec is None or not spec.types:
                return SequenceValue([self._tensor(name, None, v) for v in value])
        dtype = self._dtype_for(spec, value) if is_number_like(value) else None
        try:
            # A number in the program text of the caller: as weak as a literal, until it is typed.
            tensor = constant(as_array(value, dtype))
        except TypeError:
            expected = "a tensor" if spec is None else str(spec)
            advice = "give a numpy array, a number, a nested list of numbers, or a Tensor"
            self._wrong(name, expected, _show(value), advice)
        return wrap(tensor.value)

    def _dtype_for(self, spec: ValueSpec | None, value: Any) -> DType | None:
        """The element type that a Python number takes for a parameter."""
        if spec is None:
            return None
        if spec.typevar is not None and spec.typevar in self.bound:
            return self.bound[spec.typevar][0]
        allowed = [t.dtype for t in spec.types if isinstance(t, TensorType) and t.dtype is not None]
        default = DEFAULT_DTYPE.get(plain_kind(value))
        if not allowed or default in allowed:
            return None
        kind = plain_kind(value)
        for dtype in allowed:
            if kind == "str" and dtype.is_string:
                return dtype
            if kind in ("int", "float") and (
                dtype.is_float or (kind == "int" and dtype.is_integer)
            ):
                return dtype
            if kind == "bool" and dtype.is_bool:
                return dtype
        return None

    def _check(self, name: str, spec: ValueSpec, value: Any) -> None:
        kind = type_of_value(value)
        if spec.types and not any(self._fits(kind, allowed) for allowed in spec.types):
            self._wrong(name, str(spec), _show(value), _advice(spec, kind))
        if spec.typevar is None or not isinstance(kind, TensorType) or kind.dtype is None:
            return
        bound_type = self.bound.setdefault(spec.typevar, (kind.dtype, name))
        if bound_type[0] is not kind.dtype:
            self._wrong(
                name,
                f"{bound_type[0]}, as `{bound_type[1]}` has ({spec.typevar} is one type)",
                _show(value),
                f"cast one of them: `{name}.astype({_numpy_name(bound_type[0])})`",
            )

    def _fits(self, kind: OnnxType | None, allowed: OnnxType) -> bool:
        if fits(kind, allowed):
            return True
        return (
            self.inside
            and isinstance(kind, TensorType)
            and isinstance(allowed, TensorType)
            and kind.shape in _ONE_ELEMENT
            and allowed.shape in _ONE_ELEMENT
            and allowed.dtype in (None, kind.dtype)
        )

    def _wrong(self, name: str, expected: str, got: str, advice: str) -> NoReturn:
        fail(
            messages.WrongArgumentType(
                function=self.name, parameter=name, expected=expected, got=got, advice=advice
            )
        )

    # -- results ---------------------------------------------------------------------------------

    def results(self, returned: Any) -> Any:
        """What the function returned, as tensors."""
        returns = self.signature.returns
        if isinstance(returned, list) and returns is not None and len(returns) == 1:
            if _only_sequences(returns[0]) and not isinstance(returned, SequenceValue):
                returned = own_list(returned)
        many = isinstance(returned, (tuple, list)) and not isinstance(returned, SequenceValue)
        values = list(returned) if many else [] if returned is None and not returns else [returned]
        if returns is not None and len(returns) != len(values):
            expected = f"{len(returns)} value{'s' * (len(returns) != 1)}"
            self._wrong_result(f"{len(values)} value{'s' * (len(values) != 1)}", expected)
        specs: Sequence[ValueSpec | None] = returns or [None] * len(values)
        results = [self._result(v, s) for v, s in zip(values, specs, strict=True)]
        if many:
            return tuple(results)
        return results[0] if results else None

    def _result(self, value: Any, spec: ValueSpec | None) -> Any:
        if value is None:
            if spec is not None and not spec.optional:
                self._wrong_result("None", str(spec))
            return None
        result = self._returned(value, spec)
        if spec is None:
            return result
        kind = type_of_value(result)
        if spec.types and not any(fits(kind, allowed) for allowed in spec.types):
            self._wrong_result(_show(result), str(spec))
        return result

    def _returned(self, value: Any, spec: ValueSpec | None) -> Any:
        if isinstance(value, BackendValue):
            return value
        expected = "a tensor" if spec is None else str(spec)
        dtype = self._dtype_for(spec, value) if is_number_like(value) else None
        if type(value) is int and (spec is None or _takes_integers(spec)):
            narrow = dtype or DType.INT64
            low, high = _range_of(narrow)
            if narrow.is_integer and not low <= value <= high:
                held = f"{narrow} holds {low} to {high}"
                advice = f"return a number that fits ({held}), or change the annotation"
                self._wrong_result(_show(value), expected, advice)
        try:
            return wrap(as_array(value, dtype))
        except TypeError:
            self._wrong_result(_show(value), expected)

    def _wrong_result(self, got: str, expected: str, advice: str = _RETURN_ADVICE) -> NoReturn:
        fail(messages.WrongResult(function=self.name, got=got, expected=expected, advice=advice))


def _range_of(dtype: DType) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    if dtype.is_signed:
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


def _only_sequences(spec: ValueSpec | None) -> bool:
    return (
        spec is not None
        and bool(spec.types)
        and all(isinstance(t, SequenceType) for t in spec.types)
    )


def _takes_integers(spec: ValueSpec) -> bool:
    tensors = [t for t in spec.types if isinstance(t, TensorType)]
    return any(t.dtype is None or t.dtype.is_integer for t in tensors)


def _show(value: Any) -> str:
    if isinstance(value, (Tensor, np.ndarray, SequenceValue, MapValue)):
        return show_value(value)
    if isinstance(value, (bool, int, float, str)):
        return f"{type(value).__name__} {value!r}"
    return f"an object of type `{type(value).__name__}`"


def _numpy_name(dtype: DType) -> str:
    name = dtype.numpy.name
    return f"np.{name}" if hasattr(np, name) else f"ml_dtypes.{name}"


def _advice(spec: ValueSpec, kind: OnnxType | None) -> str:
    """How to make a value fit."""
    tensors = [t for t in spec.types if isinstance(t, TensorType)]
    if not isinstance(kind, TensorType) or not tensors:
        return f"give {spec}"
    same = [t for t in tensors if t.dtype in (None, kind.dtype)]
    if same:
        return f"the element type is right, the shape is not: {same[0]} is wanted; reshape it first"
    dtype = next(t.dtype for t in tensors if t.dtype is not None)
    return f"convert it: `x.astype({_numpy_name(dtype)})`, or `op.Cast(x, to={dtype})`"
