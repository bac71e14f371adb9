"""Functions called on values of a graph, and calls of one opset version made through another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import ops as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.operators.versions import same_meaning
from onnxwright.opset import registry
from onnxwright.opset.op import Op
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.tracing.replay import Env, Replay


def call_function(
    b: GraphBackend,
    function: ir.Function,
    inputs: Sequence[GraphValue | None],
    attributes: Mapping[str, object],
    functions: Mapping[Any, ir.Function] | None = None,
) -> list[GraphValue | None]:
    """The results of a function of onnx_ir, its nodes made anew for these arguments.

    Args:
        b: the backend.
        function: the function.
        inputs: the arguments; None for an absent one.
        attributes: values of attribute parameters; defaults are the function's.
        functions: the functions it calls.

    Returns:
        Its results.
    """
    return Replay(b, {}, functions=functions).inline(function, inputs, attributes)


def adapted(
    b: GraphBackend,
    op: Op,
    inputs: Sequence[GraphValue | None],
    attributes: Mapping[str, object],
    outputs: int,
) -> tuple[GraphValue, ...]:
    """A call through another version of the default opset, as the backend's version says it.

    Raises:
        ScriptValueError: the operator differs and cannot be converted (OW536).
    """
    target = b.opset.version
    there = registry.signature("", op.name, target)
    assert op.signature is not None
    if there is not None and same_meaning(op.signature, there, attributes, outputs):
        return b.emit(b.opset[op.name], inputs, attributes, outputs)
    described = [None if v is None else (v.kind, _array(b, v)) for v in inputs]
    converted = b.convert_call(
        op.name, described, b.checked_attributes(op, attributes), outputs, op.version, target
    )
    if isinstance(converted, str):
        raise_not_convertible(b, op, converted.replace("{", "(").replace("}", ")"))
    named = {f"i{n}": v for n, v in enumerate(inputs)}
    env: Env = {
        v: named[v.name or ""] for v in (*converted.inputs, *converted.initializers.values())
    }
    results = Replay(b, {"": target}).run(list(converted), list(converted.outputs), env)
    return tuple(r for r in results if r is not None)


def _array(b: GraphBackend, value: GraphValue) -> np.ndarray[Any, Any] | None:
    """The array a value is known to hold; strings stay values."""
    array = b.constant_value(value)
    return None if array is None or array.dtype == object else array


def raise_not_convertible(b: GraphBackend, op: Op, reason: str) -> NoReturn:
    fail(
        messages.OpsetsDisagree(
            operation=op.name,
            domain="ai.onnx",
            version=op.version,
            target=b.opset.version,
            reason=reason,
            span=b.here(),
        )
    )


__all__ = ["Env", "Replay", "adapted", "call_function"]
