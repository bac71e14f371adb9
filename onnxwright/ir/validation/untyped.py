"""Functions in which an operator reads a value without a type: runtimes end the process there."""

from __future__ import annotations

from collections.abc import Collection

import onnx

from onnxwright.ir.validation.damage import Damage, quoted
from onnxwright.ir.validation.functions import nodes_of
from onnxwright.operators import facts

_RUNTIME = "com.microsoft"  # what the domains of ONNX Runtime's own operators begin with


def check_types_in_functions(model: onnx.ModelProto, *, more_operators: bool = False) -> None:
    """Refuse functions whose types a runtime reads although there are none.

    Args:
        model: the model, checked by `check_model`.
        more_operators: whether the runtime may have operators that are not known here.

    Raises:
        Damage: such an operator reads an input that a call of its function leaves out, or the
            result of an operator that does not exist.
    """
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    reading = [f for f in model.functions if any(map(_reads_types, nodes_of(f.node)))]
    if not reading:
        return
    absent = _absent_inputs(model, functions)
    for function in reading:
        untyped = set(absent[function.domain, function.name, function.overload])
        if not more_operators:
            for node in nodes_of(function.node):
                key = (node.domain, node.op_type, node.overload)
                if key not in functions and not _exists(node):
                    untyped.update(node.output)
        _check(function, untyped)


def _absent_inputs(
    model: onnx.ModelProto, functions: Collection[tuple[str, str, str]]
) -> dict[tuple[str, str, str], set[str]]:
    """The inputs of each function that some call leaves out."""
    found: dict[tuple[str, str, str], set[str]] = {key: set() for key in functions}
    inputs = {(f.domain, f.name, f.overload): list(f.input) for f in model.functions}
    for body in (model.graph, *model.functions):
        for node in nodes_of(body.node):
            key = (node.domain, node.op_type, node.overload)
            if key in inputs:
                given = [*node.input, *[""] * len(inputs[key])]
                pairs = zip(inputs[key], given, strict=False)
                found[key].update(name for name, value in pairs if not value)
    return found


def _check(function: onnx.FunctionProto, untyped: set[str]) -> None:
    for node in nodes_of(function.node):
        for name in node.input if _reads_types(node) else ():
            if name in untyped:
                where = f"function {quoted(function.name)}, node {quoted(node.op_type)}"
                what = f"it reads {quoted(name)}, whose type is not known: a call leaves it out, "
                raise Damage("structure", where, f"{what}or an unknown operator computes it")


def _reads_types(node: onnx.NodeProto) -> bool:
    return facts(node.op_type, node.domain).needs_input_types


def _exists(node: onnx.NodeProto) -> bool:
    domain = "" if node.domain == "ai.onnx" else node.domain
    return domain.startswith(_RUNTIME) or onnx.defs.has(node.op_type, domain)


__all__ = ["check_types_in_functions"]
