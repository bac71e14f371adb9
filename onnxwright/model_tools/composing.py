"""`compose`: two models as one, outputs of the first as inputs of the second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import onnx_ir as ir

from onnxwright.diagnostics.catalogue import model_tools as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.door import Model, opened, returned
from onnxwright.ir.names import Namer, rename_clashing
from onnxwright.ir.nested import all_nodes, subgraphs
from onnxwright.model_tools.values import by_name, find, listed, rename_value
from onnxwright.opset import registry
from onnxwright.types.kinds import TensorType
from onnxwright.versions.api import convert_version
from onnxwright.versions.snippet import reserved_names
from onnxwright.versions.value_types import declared_type

Pairs = Mapping[str, str] | Iterable[tuple[str, str]]


def compose(
    first: Model,
    second: Model,
    io_map: Pairs | None = None,
    *,
    prefix: str | None = None,
    outputs: Iterable[str] | None = None,
    output: str | PathLike[str] | None = None,
) -> Any:
    """Two models as one: outputs of the first are inputs of the second.

    The result has the inputs of the first and those of the second that are not connected; the
    outputs of the first that are not connected and those of the second.  Where opset versions
    differ, the older model is converted.  Names of the first stay; those of the second too, unless
    they are taken: then values inside get a number, and `prefix` is put before the names of inputs
    and outputs.
    The result has the functions of both, equal ones once.

    Args:
        first, second: models of any kind (see `ow.load`); they are not changed.
        io_map: output of the first -> input of the second; by default those of the same name.
        prefix: is put before every name of the second model.
        outputs: the outputs to keep, in order; by default as above.
        output: a file to write the result to.

    Returns:
        The kind of `first`; an `onnx_ir.Model` for a path or an ONNXProgram, a ModelProto for a
        script.  The path written, with `output`.

    Raises:
        ModelToolError: the output or input does not exist (OW876), their types differ (OW878), or
            an input or output of the second has a name that the first has (OW879).
        ConversionError: the older model cannot be converted (OW870).

    Example:
        >>> import onnx
        >>> head = '<ir_version: 10, opset_import: ["" : 18]>'
        >>> a = onnx.parser.parse_model(head + "a (float[N] x) => (float[N] y) { y = Abs(x) }")
        >>> b = onnx.parser.parse_model(head + "b (float[N] y) => (float[N] z) { z = Sqrt(y) }")
        >>> model = compose(a, b)
        >>> [n.op_type for n in model.graph.node], [o.name for o in model.graph.output]
        (['Abs', 'Sqrt'], ['z'])
    """
    a, b = _same_versions(opened(first).clone(), opened(second).clone())
    pairs = _pairs(a.graph, b.graph, io_map)
    rename_clashing(b, a.functions)
    _rename_values(a, b, {pair[1] for pair in pairs}, prefix)
    connected = {old for old, _ in pairs}
    results = [v for v in a.graph.outputs if v not in connected] + list(b.graph.outputs)
    joined = {new: old for old, new in pairs}
    free = [v for v in b.graph.inputs if v not in {new for _, new in pairs}]
    a.graph.outputs.clear()
    b.graph.outputs.clear()
    for old, new in pairs:
        new.replace_all_uses_with(old)
        b.graph.initializers.pop(new.name or "", None)  # a default that is never used now
    results = _distinct([joined.get(v, v) for v in results], a, b)
    _move(a, b, free)
    if outputs is not None:
        values = by_name(a.graph)
        results = [find(values, n, "value", a.graph) for n in listed(outputs, "outputs")]
    a.graph.outputs.clear()
    a.graph.outputs.extend(results)
    a.ir_version = max(a.ir_version, b.ir_version)
    for key, value in b.metadata_props.items():
        a.metadata_props.setdefault(key, value)
    return returned(a, first, output, same_interface=False)


def _same_versions(a: ir.Model, b: ir.Model) -> tuple[ir.Model, ir.Model]:
    """Both models with the newer of their opset versions."""
    mine, theirs = a.graph.opset_imports, b.graph.opset_imports
    shared = [d for d in mine if d in theirs and mine[d] != theirs[d]]
    newest = {d: max(mine[d], theirs[d]) for d in shared if registry.is_known_domain(d)}
    for domain in shared:
        if domain not in newest:
            fail(messages.BadModelArgument(
                argument="second",
                reason=f"it uses version {theirs[domain]} of {domain}, the first one "
                f"{mine[domain]}",
                advice="only the operators of onnx can be converted: bring both to one version",
            ))  # fmt: skip
    if not newest:
        return a, b
    converted = [convert_version(m, domains={k or "ai.onnx": v for k, v in newest.items()})
            for m in (a, b)]  # fmt: skip
    return converted[0], converted[1]


def _pairs(a: ir.Graph, b: ir.Graph, io_map: Pairs | None) -> list[tuple[ir.Value, ir.Value]]:
    outs = {v.name or "": v for v in a.outputs}
    ins = {v.name or "": v for v in b.inputs}
    if io_map is None:
        connections = [(n, n) for n in outs if n in ins]
        if not connections:
            fail(messages.BadModelArgument(
                argument="io_map", reason="no output of the first is called like an input of the "
                "second", advice="say which output goes where: io_map={'y': 'x'}",
            ))  # fmt: skip
    else:
        connections = list(io_map.items() if isinstance(io_map, Mapping) else io_map)
    listed([new for _, new in connections], "io_map")
    pairs = []
    for old, new in connections:
        x, y = find(outs, old, "output", a), find(ins, new, "input", b)
        _check_types(x, y)
        pairs.append((x, y))
    return pairs


def _check_types(output: ir.Value, input_value: ir.Value) -> None:
    x, y = declared_type(output), declared_type(input_value)
    if x is None or y is None:
        return
    reason = ""
    if isinstance(x, TensorType) and isinstance(y, TensorType):
        if x.dtype is not y.dtype and None not in (x.dtype, y.dtype):
            reason = f"it is {x}, and {y} is wanted"
        elif x.shape is not None and y.shape is not None:
            same = len(x.shape) == len(y.shape) and all(
                p == q or not (isinstance(p, int) and isinstance(q, int))
                for p, q in zip(x.shape, y.shape, strict=True)
            )
            reason = "" if same else f"it is {x}, and {y} is wanted"
    elif type(x) is not type(y):
        reason = f"it is {x}, and {y} is wanted"
    if reason:
        fail(messages.CannotConnect(
            output=output.name or "", input=input_value.name or "", reason=reason,
            advice="cast or reshape it, or set the shapes of one of the models",
        ))  # fmt: skip


def _rename_values(a: ir.Model, b: ir.Model, connected: set[ir.Value], prefix: str | None) -> None:
    """Names of the second that the first has: values get a number, inputs and outputs a prefix."""
    names = _graph_names(a.graph)
    namer = Namer()
    for name in names:
        namer.unique(name)
    interface = {*b.graph.inputs, *b.graph.outputs} - connected
    for node in all_nodes(b.graph):
        if node.name:
            node.name = namer.unique(f"{prefix or ''}{node.name}")
    for value in _graph_values(b.graph):
        if not value.name or value in connected:
            continue
        new_name = f"{prefix or ''}{value.name}"
        if value in interface and new_name in names:
            fail(messages.NameTaken(
                name=new_name, holder="a value of the first model",
                advice="give `prefix=`, which is put before the names of the second model",
            ))  # fmt: skip
        rename_value(value, new_name if value in interface else namer.unique(new_name))


def _graph_values(graph: ir.Graph) -> list[ir.Value]:
    values = list(dict.fromkeys([*graph.inputs, *graph.initializers.values()]))
    for node in graph:
        values += node.outputs
        for inner in subgraphs(node):
            values += _graph_values(inner)
    return values


def _graph_names(graph: ir.Graph) -> set[str]:
    names = {v.name for v in _graph_values(graph) if v.name}
    return names | {n.name for n in all_nodes(graph) if n.name}


def _distinct(results: list[ir.Value], a: ir.Model, b: ir.Model) -> list[ir.Value]:
    """Outputs, each a value of its own: one that is listed twice is copied."""
    names, seen, renamed = reserved_names(a), set(), []
    for value in results:
        if value in seen:
            node = ir.Node("", "Identity", [value], num_outputs=1)
            b.graph.append(node)
            node.outputs[0].name = names.unique(f"{value.name}_copy")
            node.outputs[0].type, node.outputs[0].shape = value.type, value.shape
            value = node.outputs[0]
        seen.add(value)
        renamed.append(value)
    return renamed


def _move(a: ir.Model, b: ir.Model, free: list[ir.Value]) -> None:
    """Everything of the second graph into the first one."""
    nodes, held = list(b.graph), list(b.graph.initializers.values())
    b.graph.outputs.clear()
    b.graph.inputs.clear()
    b.graph.initializers.clear()
    b.graph.remove(nodes)
    a.graph.inputs.extend(free)
    for value in held:
        a.graph.initializers[value.name or ""] = value
    a.graph.extend(nodes)
    for name, function in b.functions.items():
        a.functions.setdefault(name, function)
    for domain, version in b.graph.opset_imports.items():
        a.graph.opset_imports.setdefault(domain, version)
