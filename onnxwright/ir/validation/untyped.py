"""Functions in which an operator reads a value that a call leaves out, or one without a type.

Runtimes end the process there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import onnx

from onnxwright.ir.proto_graphs import nodes_of
from onnxwright.ir.validation.damage import Damage, quoted
from onnxwright.ir.validation.functions import Key
from onnxwright.ir.validation.nodes import needs_input, versions_of
from onnxwright.operators import facts

_RUNTIME = "com.microsoft"  # what the domains of ONNX Runtime's own operators begin with


def check_types_in_functions(model: onnx.ModelProto, *, more_operators: bool = False) -> None:
    """Refuse functions whose values or types a runtime reads although there are none.

    Args:
        model: the model, checked by `check_model`.
        more_operators: whether the runtime may have operators that are not known here.

    Raises:
        Damage: an operator needs an input that a call of its function leaves out, or reads the
            type of such an input or of the result of an operator that does not exist.
    """
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    if not functions:
        return
    absent = _absent_inputs(model, functions)
    for key, function in functions.items():
        if absent[key]:
            _check_absent(function, absent[key], functions)
    reading = [f for f in model.functions if any(map(_reads_types, nodes_of(f.node)))]
    for function in reading:
        untyped = set(absent[function.domain, function.name, function.overload])
        if not more_operators:
            for node in nodes_of(function.node):
                key = (node.domain, node.op_type, node.overload)
                if key not in functions and not _exists(node):
                    untyped.update(node.output)
        _check(function, untyped)


def _absent_inputs(
    model: onnx.ModelProto, functions: Mapping[Key, onnx.FunctionProto]
) -> dict[Key, set[str]]:
    """The inputs of each function that some call leaves out, directly or as one of its own."""
    absent: dict[Key, set[str]] = {key: set() for key in functions}
    calls = [
        (caller, key, node)
        for caller, nodes in (
            (None, model.graph.node),
            *((k, f.node) for k, f in functions.items()),
        )
        for node in nodes_of(nodes)
        if (key := (node.domain, node.op_type, node.overload)) in functions
    ]
    changed = True
    while changed:
        changed = False
        for caller, key, node in calls:
            outer = absent[caller] if caller is not None else ()
            declared = functions[key].input
            names = [*node.input, *[""] * len(declared)]
            missing = {n for n, v in zip(declared, names, strict=False) if not v or v in outer}
            changed |= not missing <= absent[key]
            absent[key] |= missing
    return absent


def _check_absent(
    function: onnx.FunctionProto, absent: Collection[str], functions: Collection[Key]
) -> None:
    """Refuse nodes that need an input that a call of their function leaves out."""
    versions = versions_of(function)
    for outer in function.node:
        for depth, node in enumerate(nodes_of([outer])):
            if (node.domain, node.op_type, node.overload) in functions:
                continue
            for n, name in enumerate(node.input):
                # In a branch, a variadic input may be absent as long as the branch is not taken.
                if name in absent and needs_input(node, n, versions, variadic=depth == 0):
                    where = f"function {quoted(function.name)}, node {quoted(node.op_type)}"
                    what = f"it needs its input {quoted(name)}, which a call of the function omits"
                    raise Damage("structure", where, what)


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
