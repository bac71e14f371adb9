"""`extract`: the part of a model between named values, as a model."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

import onnx_ir as ir

from onnxwright.diagnostics.catalogue import model_tools as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.adapters import complete, set_type
from onnxwright.ir.door import Model, opened, returned
from onnxwright.model_tools.values import (
    by_name,
    find,
    listed,
    read_by,
    rename_value,
    used_functions,
)
from onnxwright.versions.value_types import ValueTypes


def extract(
    model: Model,
    inputs: Iterable[str] | str,
    outputs: Iterable[str] | str,
    *,
    output: str | PathLike[str] | None = None,
) -> Any:
    """The part of a model that computes some values from others, as a model.

    Initializers, bodies of If, Loop and Scan with what they read from outside, and model-local
    functions are copied; what the part does not need is left out.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        inputs: the values that become inputs, in order: inputs, initializers or results of nodes.
        outputs: the values that become outputs, in order.
        output: a file to write the result to.

    Returns:
        The same kind as `model`; an `onnx_ir.Model` for a path or an ONNXProgram, a ModelProto for
        a script.  The path written, with `output`.

    Raises:
        ModelToolError: the value does not exist (OW876), or the outputs depend on more than the
            inputs (OW877).

    Example:
        >>> import onnx
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 10, opset_import: ["" : 18]>'
        ...     "g (float[N] x) => (float[N] y) { a = Abs(x) b = Sqrt(a) y = Neg(b) }"
        ... )
        >>> part = extract(model, ["a"], ["b"])
        >>> [n.op_type for n in part.graph.node], [i.name for i in part.graph.input]
        (['Sqrt'], ['a'])
    """
    source = opened(model).clone()
    graph = source.graph
    values = by_name(graph)
    ends = [find(values, name, "value", graph) for name in listed(outputs, "outputs")]
    starts = [find(values, name, "value", graph) for name in listed(inputs, "inputs")]
    if not ends:
        fail(messages.BadModelArgument(
            argument="outputs", reason="it is empty", advice="name at least one value"
        ))  # fmt: skip
    types = ValueTypes(source)
    kept = _needed(graph, starts, ends)
    new_inputs = [_as_input(value, types) for value in starts]
    new_outputs = _outputs(graph, starts, ends, kept)
    for value in new_outputs:
        if value.type is None:
            set_type(value, types.kind(value))
    graph.outputs.clear()
    graph.inputs.clear()
    graph.remove([node for node in graph if node not in kept])
    for old, new in zip(starts, new_inputs):
        if old is not new:
            old.replace_all_uses_with(new)
            graph.initializers.pop(old.name or "", None)
            new.name = old.name
    graph.inputs.extend(new_inputs)
    graph.outputs.extend(new_outputs)
    reads = {v for node in graph for v in read_by(node)} | set(new_outputs)
    for name, value in list(graph.initializers.items()):
        if value not in reads:
            del graph.initializers[name]
    functions = used_functions(source)
    for function in [f for f in source.functions if f not in functions]:
        del source.functions[function]
    return returned(source, model, output, same_interface=False)


def _needed(graph: ir.Graph, starts: list[ir.Value], ends: list[ir.Value]) -> dict[ir.Node, None]:
    """The nodes that compute the ends from the starts."""
    stops = set(starts)
    needed: set[ir.Value] = {v for v in ends if v not in stops}
    kept: dict[ir.Node, None] = {}
    for node in reversed(list(graph)):
        if any(v in needed for v in node.outputs):
            kept[node] = None
            needed.update(v for v in read_by(node) if v not in stops)
    missing = [v for v in graph.inputs if v in needed and v.const_value is None]
    if missing:
        names = ", ".join(f"`{v.name}`" for v in missing)
        fail(messages.DependsOnMoreInputs(
            outputs=", ".join(f"`{v.name}`" for v in ends),
            inputs=", ".join(f"`{v.name}`" for v in starts) or "nothing",
            missing=f"it also needs {names}",
        ))  # fmt: skip
    return kept


def _as_input(value: ir.Value, types: ValueTypes) -> ir.Value:
    """An input in the place of a value; an input of the model itself stays."""
    if value.is_graph_input() and value.const_value is None:
        return value
    kind = types.kind(value)
    if not complete(kind):
        fail(messages.BadModelArgument(
            argument="inputs", reason=f"the type of `{value.name}` is not known",
            advice="declare the types of the model's inputs, or run shape inference",
        ))  # fmt: skip
    new = ir.Value(name=value.name, doc_string=value.doc_string)
    set_type(new, kind)
    new.metadata_props.update(value.metadata_props)
    return new


def _outputs(
    graph: ir.Graph,
    starts: list[ir.Value],
    ends: list[ir.Value],
    kept: dict[ir.Node, None],
) -> list[ir.Value]:
    """The outputs; one that is an input or initializer too is copied, under the same name."""
    outputs = []
    for value in ends:
        if value in starts:
            fail(messages.NameTaken(
                name=value.name or "", holder="an input of the part",
                advice="a value cannot be both an input and an output: leave out one of them",
            ))  # fmt: skip
        if value.producer() is not None:
            outputs.append(value)
            continue
        node = ir.Node("", "Identity", [value], num_outputs=1)
        graph.append(node)
        kept[node] = None
        name = value.name or ""
        rename_value(value, f"{name}_value")
        node.outputs[0].name = name
        node.outputs[0].type, node.outputs[0].shape = value.type, value.shape
        outputs.append(node.outputs[0])
    return outputs
