"""Operators of the user's own domains: a Python implementation or a FunctionProto for each.

A registry filled by the user; the evaluator is asked only for what is not in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import onnx

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.eager.arrays import as_array
from onnxwright.eager.control_flow import interpreter
from onnxwright.eager.evaluators import Request
from onnxwright.eager.ort import model_functions
from onnxwright.eager.values import MapValue, SequenceValue, Value, raw_value
from onnxwright.opset.op import Op

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Implementation:
    """How one custom operator is run.

    Fields:
        domain: its domain.
        name: its name.
        version: the first opset version it is for.
        function: the Python function, if it is one.
        proto: the FunctionProto, if it is one.
        place: where it was registered.
    """

    domain: str
    name: str
    version: int
    place: str
    function: Callable[..., Any] | None = None
    proto: onnx.FunctionProto | None = None

    def run(self, evaluator: Any, run_op: interpreter.RunOp, request: Request) -> Sequence[Value]:
        """The outputs of one call.

        Args:
            run_op: runs one operator of a FunctionProto.

        Raises:
            EagerTypeError: the Python function gave something else than the outputs.
        """
        if self.function is not None:
            returned = self.function(*request.inputs, **request.attributes)
            results = list(returned) if isinstance(returned, (tuple, list)) else [returned]
            if isinstance(returned, SequenceValue):
                results = [returned]
            who = f"the implementation of `{request.op.name}`"
            return checked(who, request.op, [_as_result(r) for r in results], request.outputs)
        assert self.proto is not None
        return model_functions.run_function(evaluator, run_op, self.proto, request)


def _as_result(value: Any) -> Value:
    if value is None or isinstance(value, (SequenceValue, MapValue)):
        return value
    if isinstance(value, dict):
        return MapValue(value)
    if isinstance(value, list):
        return SequenceValue([_as_result(v) for v in value])
    result: Value = raw_value(as_array(value))
    return result


_registry: dict[tuple[str, str], dict[int, Implementation]] = {}
_lock = threading.Lock()


def implement(
    domain: str, name: str, version: int = 1, *, replace: bool = False
) -> Callable[[F], F]:
    """Register a Python function as the implementation of a custom operator in eager mode.

    Args:
        domain: the operator's domain.
        name: the operator.
        version: the first opset version this implementation is for.
        replace: take the place of an earlier implementation instead of refusing.

    Returns:
        A decorator; the function is called with arrays (None for an absent input) and the
        attributes by keyword, and returns an array, or a tuple of them.

    Raises:
        EagerValueError: there is one already (OW617).

    Example:
        >>> from onnxwright.opset import Opset
        >>> @implement("doc.example", "Twice", replace=True)
        ... def twice(x, times=2):
        ...     return x * times
        >>> Opset("doc.example", 1).Twice(np.ones(2, np.float32), times=3)
        array([3., 3.], dtype=float32)
    """

    def register(function: F) -> F:
        code = getattr(function, "__code__", None)
        place = f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(function)
        _add(Implementation(domain, name, version, place, function=function), replace)
        return function

    return register


def implement_function(
    proto: onnx.FunctionProto, *, version: int = 1, replace: bool = False
) -> None:
    """Register a FunctionProto as the implementation of a custom operator in eager mode.

    Args:
        proto: an `onnx.FunctionProto`; its domain and name say the operator.
        version: the first opset version this implementation is for.
        replace: take the place of an earlier implementation instead of refusing.

    Raises:
        EagerValueError: there is one already (OW617).

    Example:
        >>> import onnx.parser
        >>> head = '<domain: "doc.functions", opset_import: ["" : 18]>'
        >>> text = head + "Twice (x) => (y) { y = Add(x, x) }"
        >>> implement_function(onnx.parser.parse_function(text), replace=True)
        >>> from onnxwright.opset import Opset
        >>> Opset("doc.functions", 1).Twice(np.ones(2, np.float32))
        array([2., 2.], dtype=float32)
    """
    span = user_span()
    place = span.place if span is not None else "?"
    _add(Implementation(proto.domain, proto.name, version, place, proto=proto), replace)


def _add(implementation: Implementation, replace: bool) -> None:
    with _lock:
        versions = _registry.setdefault((implementation.domain, implementation.name), {})
        entry = versions.get(implementation.version)
        if entry is not None and not replace and entry.place != implementation.place:
            fail(
                messages.ImplementedTwice(
                    op=implementation.name, domain=implementation.domain, place=entry.place
                )
            )
        versions[implementation.version] = implementation
        if implementation.proto is not None:
            model_functions.remember_function(implementation.proto)


def forget(domain: str, name: str | None = None) -> None:
    """Take implementations out again.

    Args:
        domain: the domain.
        name: the operator; all of the domain if not given.
    """
    with _lock:
        for key in [k for k in _registry if k[0] == domain and name in (None, k[1])]:
            del _registry[key]


def find(op: Op) -> Implementation | None:
    """The registered implementation of an operator.

    Args:
        op: the operator.

    Returns:
        The one with the greatest version that is not above the operator's; None without one.
    """
    versions = _registry.get((op.domain, op.name))
    if not versions:
        return None
    possible = [v for v in versions if v <= op.version]
    return versions[max(possible)] if possible else None


def checked(who: str, op: Op, results: Any, outputs: int) -> Sequence[Value]:
    """The results of an evaluator, if they are what was asked for.

    Raises:
        EagerTypeError: another number of results, or no values.
    """
    expected = "1 output" if outputs == 1 else f"{outputs} outputs"
    if not isinstance(results, (list, tuple)):
        got = f"an object of type `{type(results).__name__}`"
    elif len(results) < outputs:
        got = f"{len(results)}"
    else:
        strange = [
            r
            for r in results
            if r is not None and not isinstance(r, (np.ndarray, SequenceValue, MapValue))
        ]
        if not strange:
            return results[:outputs]
        got = f"an object of type `{type(strange[0]).__name__}`"
        expected += " of arrays"
    fail(messages.WrongEvaluatorResult(who=who, op=op.name, got=got, expected=expected))
