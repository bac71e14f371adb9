"""Lowering of numpy's functions called with values of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.expressions.lowering import tensor_attribute
from onnxwright.converter.lower.memory import as_view
from onnxwright.converter.lower.run_time_lists import RunTimeList, concatenated
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.values import is_dynamic
from onnxwright.diagnostics.span import Span
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value
from onnxwright.semantics.numpy_functions.rearranging import astype
from onnxwright.semantics.numpy_functions.table import FUNCTIONS, call_function, call_ufunc

# Functions that ask for what a value has as an attribute.
_ASKED = {np.shape: "shape", np.ndim: "ndim", np.size: "size"}
_ARRAYS = (np.array, np.asarray, np.ascontiguousarray)


def is_numpy(function: Any) -> bool:
    """Whether a function is numpy's, or another library's ufunc."""
    if isinstance(function, np.ufunc) or isinstance(getattr(function, "__self__", None), np.ufunc):
        return True
    if isinstance(function, type):
        return issubclass(function, np.generic)
    try:
        if function in FUNCTIONS:
            return True
    except TypeError:
        return False
    return (getattr(function, "__module__", None) or "").split(".")[0] == "numpy"


def call_numpy(
    low: Lowering, function: Any, args: list[Any], kwargs: dict[str, Any], span: Span
) -> Any:
    """What a function of numpy means with values of the graph.

    Raises:
        StaticTypeError: ONNX has no such function (OW865).
        ScriptTypeError: the arguments do not fit (OW867).
    """
    b = low.at(span)
    listed = _of_list(low, function, args, kwargs, span)
    if listed is not None:
        return listed
    if function in _ASKED and len(args) == 1 and not kwargs:
        value = low.value(args[0])
        value = value if isinstance(value, GraphValue) else as_value(b, value)
        name = _ASKED[function]
        return tensor_attribute(low, value, hir.Attribute(span, hir.Literal(span, None), name))
    if function in _ARRAYS and len(args) == 1 and set(kwargs) <= {"dtype"}:
        value = as_value(b, low.value(args[0]))
        return value if kwargs.get("dtype") is None else astype(b, value, kwargs["dtype"])
    if isinstance(function, type) and len(args) == 1 and not kwargs:
        return astype(b, low.value(args[0]), function)
    if isinstance(function, np.ufunc):
        return call_ufunc(b, function, "__call__", args, kwargs)
    ufunc = getattr(function, "__self__", None)
    if isinstance(ufunc, np.ufunc):
        return call_ufunc(b, ufunc, function.__name__, args, kwargs)
    result = call_function(b, function, args, kwargs)
    entry = FUNCTIONS[function]
    if entry.is_view and args and isinstance(args[0], GraphValue):
        return as_view(result, args[0])
    return result


def _of_list(
    low: Lowering, function: Any, args: Sequence[Any], kwargs: dict[str, Any], span: Span
) -> Any:
    """`np.stack(xs)` and `np.concatenate(xs)` of a list whose length the model decides."""
    if function not in (np.stack, np.concatenate) or not args:
        return None
    if not isinstance(args[0], RunTimeList) or not set(kwargs) <= {"axis"}:
        return None
    axis = args[1] if len(args) > 1 else kwargs.get("axis", 0)
    if not isinstance(axis, int) or is_dynamic(axis):
        return None
    stacked = function is np.stack
    result = concatenated(low.b, args[0], axis, stacked)
    if result is not None:
        return result
    attributes = {"axis": axis, "new_axis": int(stacked)}
    return low.apply(low.b.opset["ConcatFromSequence"], [args[0]], attributes, span)
