"""The short path of `x + y` on tensors: operators that are one ONNX operator, straight to it.

The table holds only what `semantics.arithmetic` emits as that single operator, which a test
checks; everything else, and every failure, goes through the semantics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.eager import select
from onnxwright.eager.backend import backend_for
from onnxwright.eager.ort.calls import FastCall
from onnxwright.eager.ort.evaluator import OrtEvaluator
from onnxwright.eager.tensor import ConstantTensor, Tensor
from onnxwright.semantics.values import ValueOperators

# Python operator -> ONNX operator, for floats; those of `_ALSO_INT` for integers too.
BINARY = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "truediv": "Div", "matmul": "MatMul", "pow": "Pow",
    "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual", "eq": "Equal",
}  # fmt: skip
UNARY = {"neg": "Neg", "abs": "Abs"}
_ALSO_INT = frozenset({"add", "sub", "mul", "matmul", "lt", "le", "gt", "ge", "eq"})
FLOATS = frozenset(np.dtype(t) for t in (np.float16, np.float32, np.float64))
INTEGERS = frozenset(np.dtype(t) for t in (np.int32, np.int64))
# The first opset version that has all operators of the table for these types.
FIRST_VERSION = 13
_new = object.__new__


def takes_short_path(name: str, dtype: np.dtype[Any]) -> bool:
    """Whether an operator on this element type is one ONNX operator.

    Args:
        name: the operator as the module `operator` calls it.

    Returns:
        True where the table says so.
    """
    if dtype in FLOATS:
        return name in BINARY or name in UNARY
    return dtype in INTEGERS and name in _ALSO_INT


def _binary(
    name: str, slow: Callable[[Any, Any], Any], *, reflected: bool
) -> Callable[[Any, Any], Any]:
    """A dunder that looks for a session first."""

    def apply(self: Tensor, other: object) -> Any:
        kind = type(other)
        x = self.value
        if kind is Tensor or kind is ConstantTensor:
            y: Any = other.value  # type: ignore[attr-defined]
            key: Any = (name, select.running().version, x.dtype, y.dtype)
        elif (kind is float or kind is int) and x.dtype in FLOATS and _is_small(other):
            y = np.array(other, x.dtype)
            key = (name, select.running().version, x.dtype, x.dtype)
        else:
            return slow(self, other)
        evaluator = select.chosen_now() or select.default_now()
        if type(evaluator) is not OrtEvaluator:
            return slow(self, other)
        fast = evaluator.fast.get(key)
        if fast is None:
            result = slow(self, other)
            _remember(evaluator, name, key, x, y)
            return result
        prepared = fast.prepared
        feed = {"i0": y, "i1": x} if reflected else {"i0": x, "i1": y}
        try:
            results = prepared.run(prepared.outputs, feed, None)
        except Exception:  # noqa: BLE001 - the semantics say better what is wrong
            return slow(self, other)
        prepared.used = True
        tensor = _new(Tensor)
        tensor.value = results[0]
        return tensor

    apply.__name__ = slow.__name__
    apply.__doc__ = slow.__doc__
    return apply


def _is_small(number: Any) -> bool:
    # Integers that every float type converts like the float they equal.
    return type(number) is float or -65504 <= number <= 65504


def _unary(name: str, slow: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(self: Tensor) -> Any:
        x = self.value
        evaluator = select.chosen_now() or select.default_now()
        if type(evaluator) is not OrtEvaluator:
            return slow(self)
        key = (name, select.running().version, x.dtype)
        fast = evaluator.fast.get(key)
        if fast is None:
            result = slow(self)
            _remember(evaluator, name, key, x)
            return result
        prepared = fast.prepared
        results = prepared.run(prepared.outputs, {"i0": x}, None)
        prepared.used = True
        tensor = _new(Tensor)
        tensor.value = results[0]
        return tensor

    apply.__name__ = slow.__name__
    apply.__doc__ = slow.__doc__
    return apply


def _remember(evaluator: OrtEvaluator, name: str, key: Any, *arrays: Any) -> None:
    """Let the next operator on these types take the short path."""
    opset = select.running().opset
    first = arrays[0].dtype
    if opset.version < FIRST_VERSION or not takes_short_path(name, first):
        return
    if any(a.dtype != first for a in arrays):
        return
    op = backend_for(opset).opset[BINARY.get(name) or UNARY[name]]
    prepared = evaluator.prepare(op, arrays, {}, 1)
    if prepared is not None and prepared.plain:
        evaluator.remember(key, FastCall(op, prepared, None))


def install() -> None:
    """Give `Tensor` the short paths."""
    for name in BINARY:
        plain = f"__{name}__"
        slow = getattr(ValueOperators, plain)
        setattr(Tensor, plain, _binary(name, slow, reflected=False))
        back = f"__r{name}__"
        if hasattr(ValueOperators, back):
            setattr(Tensor, back, _binary(name, getattr(ValueOperators, back), reflected=True))
    for name in UNARY:
        plain = f"__{name}__"
        setattr(Tensor, plain, _unary(name, getattr(ValueOperators, plain)))


install()
