"""Values of a model by name: looked up, listed, and what the graphs of a node read from outside."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import NoReturn

import onnx_ir as ir

from onnxwright.diagnostics.catalogue import model_tools as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.nested import all_nodes, subgraphs


def by_name(graph: ir.Graph) -> dict[str, ir.Value]:
    """The values of a graph by name, without those of bodies."""
    values: dict[str, ir.Value] = {}
    for value in (*graph.inputs, *graph.initializers.values()):
        if value.name:
            values[value.name] = value
    for node in graph:
        for value in node.outputs:
            if value.name:
                values[value.name] = value
    return values


def find(values: Mapping[str, ir.Value], name: object, kind: str, graph: ir.Graph) -> ir.Value:
    """A value by name.

    Args:
        values: where it is looked for.
        name: its name.
        kind: what it is, for the message.
        graph: the main graph.

    Raises:
        ModelToolError: there is none (OW876).
    """
    if not isinstance(name, str):
        fail(messages.BadModelArgument(
            argument=repr(name), reason="names are texts", advice=f"give the name of the {kind}"
        ))  # fmt: skip
    value = values.get(name)
    if value is not None:
        return value
    for node in all_nodes(graph):
        for inner in subgraphs(node):
            if name in by_name(inner):
                fail(messages.UnknownValue(
                    kind=f"{kind} of the main graph", name=name,
                    names=f"`{name}` is a value of a body of `{node.name or node.op_type}`",
                ))  # fmt: skip
    fail_unknown(values, name, kind)


def fail_unknown(names: Iterable[str], name: str, kind: str) -> NoReturn:
    """Refuse a name that the model does not have, and show some that it has.

    Args:
        names: those that it has.
        name: the one that was asked for.
        kind: what it is, for the message.

    Raises:
        ModelToolError: always (OW876).
    """
    names = list(names)
    near = difflib.get_close_matches(name, names, 1)
    some = ", ".join(f"`{n}`" for n in names[:8])
    fail(messages.UnknownValue(
        kind=kind, name=name, names=f"there are {some}" if some else "there is none",
        suggestion=near[0] if near else None,
    ))  # fmt: skip


def rename_value(value: ir.Value, name: str) -> None:
    """Give a value another name; a tensor that it shares with another model keeps its own.

    Args:
        value: the value; if it is an initializer, its graph is updated too.
    """
    graph = value.graph if value.is_initializer() else None
    if isinstance(graph, ir.Graph):
        graph.initializers.pop(value.name or "", None)
    tensor = value.const_value
    if tensor is not None and tensor.name != name:
        value.const_value = _under_name(tensor, name)
    value.name = name
    if isinstance(graph, ir.Graph):
        graph.initializers[name] = value


def _under_name(tensor: ir.TensorProtocol, name: str) -> ir.TensorProtocol:
    """The same numbers under another name; nothing is read."""
    if isinstance(tensor, (ir.Tensor, ir.ExternalTensor, ir.LazyTensor, ir.StringTensor)):
        renamed: ir.TensorProtocol = copy.copy(tensor)
        renamed.name = name
        return renamed
    return bare_tensor(tensor, name)


def bare_tensor(tensor: ir.TensorProtocol, name: str) -> ir.TensorProtocol:
    """The same numbers under a name, without doc string and metadata; nothing is read."""
    if isinstance(tensor, ir.ExternalTensor):
        return ir.ExternalTensor(
            tensor.location, tensor.offset, tensor.length, tensor.dtype,
            shape=tensor.shape, name=name, base_dir=tensor.base_dir,
        )  # fmt: skip
    if tensor.dtype is ir.DataType.STRING:
        texts = list(tensor.numpy().ravel())
        return ir.StringTensor(texts, shape=tensor.shape, name=name)  # type: ignore[arg-type]
    return ir.LazyTensor(lambda: tensor, dtype=tensor.dtype, shape=tensor.shape, name=name)  # type: ignore[arg-type]


def listed(names: Iterable[str] | str, argument: str) -> list[str]:
    """A list of names, each once.

    Raises:
        ModelToolError: it is not a list of different names (OW882).
    """
    listed_names = [names] if isinstance(names, str) else list(names)
    twice = sorted({n for n in listed_names if listed_names.count(n) > 1})
    if twice:
        fail(messages.BadModelArgument(
            argument=argument, reason=f"`{twice[0]}` is in it twice", advice="give each name once"
        ))  # fmt: skip
    return listed_names


def read_by(node: ir.Node) -> Iterator[ir.Value]:
    """Every value a node reads, also from inside its bodies."""
    for value in node.inputs:
        if value is not None:
            yield value
    for graph in subgraphs(node):
        yield from captured(graph)


def captured(graph: ir.Graph) -> list[ir.Value]:
    """The values of graphs around that a graph reads."""
    own: set[ir.Value] = {*graph.inputs, *graph.initializers.values()}
    values: dict[ir.Value, None] = {}
    for node in graph:
        for value in read_by(node):
            if value not in own:
                values[value] = None
        own.update(node.outputs)
    values.update((v, None) for v in graph.outputs if v not in own)
    return list(values)


def used_functions(model: ir.Model) -> set[tuple[str, str, str]]:
    """The model-local functions that are called, by others that are called too."""
    functions: set[tuple[str, str, str]] = set()
    waiting: list[ir.Graph | ir.Function] = [model.graph]
    while waiting:
        for node in all_nodes(waiting.pop()):
            name = node.op_identifier()
            if name in model.functions and name not in functions:
                functions.add(name)
                waiting.append(model.functions[name])
    return functions
