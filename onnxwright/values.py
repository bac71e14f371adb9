"""onnxscript's module `values`: opsets, operators and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnxwright.dsl.function import OnnxFunction
from onnxwright.opset import Op, Opset


def TracedOnnxFunction(opset: Opset, func: Callable[..., Any]) -> OnnxFunction[Any, Any]:  # noqa: N802 - a class in onnxscript
    """A function of an opset, from a Python function that has no decorator.

    Args:
        opset: the opset that the function belongs to: its domain and version.
        func: the Python function.

    Returns:
        The same as `@script(opset)` gives: it can be called, traced and compiled.

    Example:
        >>> from onnxwright import opset18 as op
        >>> def negate(x):
        ...     return op.Neg(x)
        >>> TracedOnnxFunction(Opset("my.domain", 1), negate).domain
        'my.domain'
    """
    return OnnxFunction(func, opset.domain, version=opset.version, depth=2)


__all__ = ["OnnxFunction", "Op", "Opset", "TracedOnnxFunction"]
