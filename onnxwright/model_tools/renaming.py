"""`rename`: inputs, outputs, other values and dimensions of a model under other names."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import onnx_ir as ir

from onnxwright.diagnostics.catalogue import model_tools as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.unicode_text import check_text
from onnxwright.ir.door import Model, opened, returned
from onnxwright.ir.nested import all_nodes, subgraphs
from onnxwright.model_tools.values import by_name, find, rename_value

Names = Mapping[str, str]
_NONE: Names = {}


def rename(
    model: Model,
    *,
    inputs: Names = _NONE,
    outputs: Names = _NONE,
    values: Names = _NONE,
    dims: Names = _NONE,
    output: str | PathLike[str] | None = None,
) -> Any:
    """A model with other names.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        inputs: old name -> new name of inputs.
        outputs: the same for outputs.
        values: the same for any value of the main graph, initializers among them.
        dims: the same for named dimensions, wherever they occur.
        output: a file to write the result to.

    Returns:
        The same kind as `model`; an `onnx_ir.Model` for a path or an ONNXProgram, a ModelProto for
        a script.  The path written, with `output`.

    Raises:
        ModelToolError: the value does not exist (OW876), or a new name is taken (OW879).
        ScriptValueError: a name has no UTF-8 form (OW627).

    Example:
        >>> import onnx
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 10, opset_import: ["" : 18]>'
        ...     "g (float[N] x) => (float[N] y) { y = Abs(x) }"
        ... )
        >>> new = rename(model, inputs={"x": "ids"}, dims={"N": "batch"})
        >>> onnx.printer.to_text(new.graph).splitlines()[0]
        'g (float[batch] ids) => (float[batch] y) {'
    """
    source = opened(model).clone()
    graph = source.graph
    new: dict[ir.Value, str] = {}
    places: tuple[tuple[Names, str, Mapping[str, ir.Value]], ...] = (
        (inputs, "input", {v.name or "": v for v in graph.inputs}),
        (outputs, "output", {v.name or "": v for v in graph.outputs}),
        (values, "value", by_name(graph)),
    )
    for new_names, kind, named_values in places:
        for old, name in new_names.items():
            value = find(named_values, old, kind, graph)
            _check_name(name, f"{kind}s")
            if new.setdefault(value, name) != name:
                fail(messages.NameTaken(
                    name=name, holder=f"the {kind} `{old}` under another new name",
                    advice=f"`{old}` is an input and an output: give one name for both",
                ))  # fmt: skip
    for name in dims.values():
        _check_name(name, "dims")
    _check(graph, new)
    _apply(new)
    if dims:
        _rename_dims(source, dims)
    return returned(source, model, output, same_interface=False)


def _check_name(name: object, argument: str) -> None:
    """Refuse what no value and no dimension can be called."""
    if not isinstance(name, str) or not name:
        fail(messages.BadModelArgument(
            argument=argument, reason=f"{name!r} is not a name",
            advice="give a text that is not empty",
        ))  # fmt: skip
    check_text(name, "the name")


def _apply(new: Mapping[ir.Value, str]) -> None:
    """Give values new names, swaps among them."""
    free = [f"__renaming_{n}" for n in range(len(new))]
    # By way of free names, so that two values can swap theirs.
    for value, name in [*zip(new, free), *new.items()]:
        rename_value(value, name)


def _check(graph: ir.Graph, new: Mapping[ir.Value, str]) -> None:
    holders: dict[str, tuple[ir.Value, str]] = {}
    for value in by_name(graph).values():
        kind = "an input" if value.is_graph_input() else "a value of the model"
        holders[new.get(value, value.name or "")] = (value, kind)
    inside: dict[str, str] = {}
    for node in all_nodes(graph):
        for inner in subgraphs(node):
            inside.update(dict.fromkeys(by_name(inner), f"a value in a body of `{node.op_type}`"))
    taken: dict[str, ir.Value] = {}
    for value, name in new.items():
        holder, kind = holders.get(name, (value, ""))
        kind = inside.get(name, kind)
        if name in inside or holder is not value or taken.setdefault(name, value) is not value:
            fail(messages.NameTaken(
                name=name, holder=kind or "another value", advice="choose another name, or rename "
                "that value in the same call",
            ))  # fmt: skip


def _rename_dims(model: ir.Model, dims: Names) -> None:
    renamed_dims: set[str] = set()
    graph = model.graph
    every: list[ir.Value] = [*graph.inputs, *graph.initializers.values()]
    for node in all_nodes(graph):
        every.extend(node.outputs)
        for inner in subgraphs(node):
            every.extend(inner.inputs)
    for value in every:
        shape = value.shape
        if shape is None:
            continue
        for n, dim in enumerate(shape):
            name = getattr(dim, "value", None)
            if isinstance(name, str) and name in dims:
                renamed_dims.add(name)
                shape[n] = dims[name]
    for name in dims:
        if name not in renamed_dims:
            fail(messages.UnknownValue(
                kind="dimension", name=name, names="no value has a dimension of this name"
            ))  # fmt: skip
