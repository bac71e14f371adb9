"""A script's body compiled for one call: for backends that build it into a graph of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from onnxwright.converter.lower.calls.scripts import bind_arguments
from onnxwright.converter.lower.context import Context, Script
from onnxwright.converter.lower.functions import Lowered, lower_function, lower_main
from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import models
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.dsl.model import as_ir_function, called_by
from onnxwright.types.annotations import AttributeSpec, ValueSpec
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType


def lower_call(
    script: Script,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    to_value: Callable[[Any, DType | None], Any],
    version: int,
) -> tuple[Lowered, list[Any], Mapping[ir.Value, Any]]:
    """The body of a script for the arguments of one call, with every called script inlined.

    Args:
        args: positional arguments: values that have a `kind`, or what becomes one.
        kwargs: arguments by name.
        to_value: makes a value of a number or array, of an element type if one is given.
        version: the version of the default opset.

    Returns:
        The body, the values of its inputs in order, and the arrays it holds.

    Raises:
        ScriptError: the arguments do not fit, or the script cannot be compiled for them.
    """
    span = user_span()
    arguments = bind_arguments(script.name, script.signature, list(args), dict(kwargs), span)
    attributes: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for p in script.signature.params:
        value = arguments[p.name]
        if p.is_variadic:
            fail(models.VariadicFunction(name=script.name, parameter=p.name, span=span))
        if isinstance(p.spec, AttributeSpec):
            attributes[p.name] = value
        elif value is not None:
            values[p.name] = to_value(value, _wanted(p.spec))
    types = {name: value.kind for name, value in values.items() if value.kind is not None}
    context = Context(choose=lambda _: "inline", opset_version=version)
    body = lower_main(script, context, attributes, types)
    return body, [values[name] for name in values], body.recorder.scopes[0].initializers


def lower_functions(script: Script, version: int) -> list[ir.Function]:
    """A script and every script it calls as ONNX functions.

    Args:
        version: the version of the default opset.

    Returns:
        The functions, those that are called before those that call; the script itself is last.

    Raises:
        ScriptError: one of them cannot be an ONNX function on its own.
    """
    context = Context(opset_version=version)
    main = lower_function(script, context)
    return [as_ir_function(low) for low in (*called_by(main, context), main)]


def _wanted(spec: ValueSpec | None) -> DType | None:
    """The element type an annotation asks for, if it is one."""
    if spec is None or len(spec.types) != 1:
        return None
    kind = spec.types[0]
    return kind.dtype if isinstance(kind, TensorType) else None
