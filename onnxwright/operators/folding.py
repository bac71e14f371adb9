"""Folding with numpy: what an operator gives for arrays, exactly as the runtimes compute it.

A rule raises `UnknownError` where the result depends on who computes it, or where a run would fail:
the node stays, and the error with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.operators.op_call import Array, OpCall, UnknownError
from onnxwright.operators.record import FoldRule


def constant(call: OpCall, n: int) -> Array:
    """The array input `n` holds.

    Raises:
        UnknownError: it is not known.
    """
    array = call.arrays[n]
    if array is None:
        raise UnknownError
    return array


def elementwise(function: Callable[..., Any]) -> FoldRule:
    """A numpy function of all inputs."""

    def rule(call: OpCall) -> Any:
        return function(*(constant(call, n) for n in range(len(call.arrays))))

    return rule


def keeping_dtype(function: Callable[..., Any]) -> FoldRule:
    """A numpy function of one or two arrays, whose result has the type of the inputs."""

    def rule(call: OpCall) -> Any:
        arrays = [constant(call, n) for n in range(len(call.arrays))]
        result = arrays[0]
        if len(arrays) == 1:
            return np.asarray(function(result)).astype(result.dtype, copy=False)
        for other in arrays[1:]:
            result = np.asarray(function(result, other)).astype(result.dtype, copy=False)
        return result

    return rule
