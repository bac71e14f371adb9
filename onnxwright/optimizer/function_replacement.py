"""Other definitions for the functions and custom operators that a model calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import onnx
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import model_tools as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.loading import open_ir_function, open_ir_model
from onnxwright.ir.nested import all_nodes
from onnxwright.optimizer.functions_by_name import Key, selected_callees, shown
from onnxwright.types.roles import Script
from onnxwright.versions.api import convert_in_place


def replaced(model: ir.Model, replacements: Mapping[Any, Any]) -> None:
    """Define functions and custom operators of a model anew.

    Args:
        model: the model; it is changed.
        replacements: as for `ReplaceFunctions`.

    Raises:
        ModelToolError: the model calls no such function (OW876), or the calls do not fit the new
            one (OW882).
        ConversionError: a function cannot be converted to the opset version of the model (OW870).
        ModelError: the new functions call each other in a circle (OW744).
    """
    version = model.graph.opset_imports.get("", onnx.defs.onnx_opset_version())
    new: dict[Key, ir.Function] = {}
    for name, replacement in replacements.items():
        for key in selected_callees(model, name):
            function, *others = _functions(replacement, key, version)
            for node in _calls(model, key):
                _check_call(node, function, key)
            new[key] = _renamed(function, key, version)
            for other in others:
                new.setdefault(other.identifier(), other)
    model.functions.update(new)
    for function in new.values():
        for domain, number in (*function.opset_imports.items(), (function.domain, 1)):
            model.graph.opset_imports.setdefault(domain, number)
    if new:
        model.ir_version = max(model.ir_version, 8)  # the first that has functions
        open_ir_model(model)


def _functions(replacement: Any, key: Key, version: int) -> list[ir.Function]:
    """What a user gives as a replacement: the function, and those that it calls."""
    if isinstance(replacement, Script):
        identifier = (replacement.domain, replacement.name, replacement.overload)  # type: ignore[attr-defined]
        lowered: list[ir.Function] = replacement.lowered_functions(version)  # type: ignore[attr-defined]
        return sorted(lowered, key=lambda f: f.identifier() != identifier)
    if isinstance(replacement, onnx.FunctionProto):
        return [open_ir_function(replacement)]
    if isinstance(replacement, ir.Function):
        return [replacement]
    _refuse(key, f"a value of type {type(replacement).__name__} is not a function",
            "give a @script function, a FunctionProto, or a function of onnx_ir")  # fmt: skip


def _calls(model: ir.Model, key: Key) -> Iterator[ir.Node]:
    holders: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for holder in holders:
        yield from (node for node in all_nodes(holder) if node.op_identifier() == key)


def _check_call(node: ir.Node, function: ir.Function, key: Key) -> None:
    """Raise where a call does not fit the new function."""
    advice = "give a function that takes what the calls give"
    if len(node.inputs) > len(function.inputs):
        _refuse(key, f"a call has {len(node.inputs)} inputs, and the function takes "
                f"{len(function.inputs)}", advice)  # fmt: skip
    if len(node.outputs) > len(function.outputs):
        _refuse(key, f"a call has {len(node.outputs)} outputs, and the function gives "
                f"{len(function.outputs)}", advice)  # fmt: skip
    for name in node.attributes:
        if name not in function.attributes:
            _refuse(key, f"a call has the attribute `{name}`, and the function does not", advice)
    for name, attribute in function.attributes.items():
        if attribute.value is None and name not in node.attributes:
            _refuse(key, f"the function needs the attribute `{name}`, and a call does not have it",
                    advice)  # fmt: skip


def _renamed(function: ir.Function, key: Key, version: int) -> ir.Function:
    """The function under the name that is called, in the opset version of the model."""
    copy = function.clone()
    own = copy.opset_imports.get("", version)
    if own != version:
        copy = _converted(copy, own, version)
    renamed = ir.Function(*key, graph=copy.graph, attributes=list(copy.attributes.values()))
    renamed.metadata_props.update(function.metadata_props)
    renamed.doc_string = function.doc_string
    return renamed


def _converted(function: ir.Function, own: int, version: int) -> ir.Function:
    """A function in another opset version; it is changed where its operators mean another thing."""
    if all(_since(n, own) == _since(n, version) for n in all_nodes(function) if n.domain == ""):
        function.opset_imports[""] = version
        return function
    graph = ir.Graph([], [], nodes=[], opset_imports={"": own})
    holder = ir.Model(graph, ir_version=10, functions=[function])
    convert_in_place(holder, version)
    return holder.functions[function.identifier()]


def _since(node: ir.Node, version: int) -> int | None:
    try:
        return int(onnx.defs.get_schema(node.op_type, version, "").since_version)
    except onnx.defs.SchemaError:
        return None


def _refuse(key: Key, reason: str, advice: str) -> NoReturn:
    fail(messages.BadModelArgument(
        argument="replacements", reason=f"`{shown(key)}`: {reason}", advice=advice
    ))  # fmt: skip
