"""A model whose weights are inputs: each has the name and the shape that it has in the module.

An optimized model holds some weights in another form: transposed, or folded into others.  Whoever
gives them as inputs has those of the module, so the program is translated again without that.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import onnx_ir as ir

from onnxwright.errors import OnnxwrightWarning
from onnxwright.exporter import checks
from onnxwright.exporter.shown import shown
from onnxwright.exporter.translate.building import build
from onnxwright.ir.nested import all_nodes
from onnxwright.optimizer.weight_sources import is_derived
from onnxwright.types import dims
from onnxwright.versions.api import convert_in_place

# -- dynamic dimensions of an exported model under other names -------------------------------------

_ARGUMENT = "rename_mapping"


def checked(model: ir.Model, mapping: Mapping[Any, str]) -> dict[str, str]:
    """A renaming with names only.

    Args:
        mapping: names of dimensions, or dimensions -> new names.

    Raises:
        ExportValueError: the model has no such dimension, or a name cannot be one (OW825).
    """
    dimension_names = dict.fromkeys(
        n for v in _values(model) for d in _symbols(v) for n in dims.names_in(d)
    )
    new_names: dict[str, str] = {}
    new: Any
    for key, new in mapping.items():
        old = str(key.value) if isinstance(key, ir.SymbolicDim) else key
        if old not in dimension_names:
            names = ", ".join(dimension_names) or "none"
            checks.raise_bad_argument(
                _ARGUMENT, f"the model has no dimension `{old}`", f"it has {names}"
            )
        if not isinstance(new, str) or not new.isidentifier():
            hint = "give a name of letters, digits and underscores"
            checks.raise_bad_argument(
                _ARGUMENT, f"{shown(new)} cannot be the name of a dimension", hint
            )
        new_names[str(old)] = new
    return new_names


def rename(model: ir.Model, mapping: Mapping[str, str]) -> None:
    """Rename dimensions everywhere in a model."""
    for value in _values(model):
        if value.shape is None or not _symbols(value):
            continue
        value.shape = ir.Shape(
            [
                dims.substitute(str(d.value), mapping)
                if isinstance(d, ir.SymbolicDim) and d.value is not None
                else d
                for d in value.shape
            ]
        )


def _symbols(value: ir.Value) -> list[str]:
    if value.shape is None:
        return []
    return [
        str(d.value) for d in value.shape if isinstance(d, ir.SymbolicDim) and d.value is not None
    ]


def _values(model: ir.Model) -> Iterator[ir.Value]:
    """Every value of a model once: of graphs, subgraphs and functions."""
    seen: set[int] = set()
    graphs: list[Any] = [model.graph, *(f.graph for f in model.functions.values())]
    while graphs:
        graph = graphs.pop()
        graph_values = [*graph.inputs, *graph.initializers.values()]
        for node in graph:
            graph_values += node.outputs
            for attr in node.attributes.values():
                if not attr.is_ref() and attr.type is ir.AttributeType.GRAPH:
                    graphs.append(attr.as_graph())
                elif not attr.is_ref() and attr.type is ir.AttributeType.GRAPHS:
                    graphs.extend(attr.as_graphs())
        for value in graph_values:
            if id(value) not in seen:
                seen.add(id(value))
                yield value


# -- without data ----------------------------------------------------------------------------------

_SHOWN = 4


def with_weights_of_module(program: Any) -> ir.Model:
    """The model of a program, with each weight as the module has it.

    Returns:
        Its model, where that has them so; else the program translated again.

    Raises:
        ExportValueError: the model was changed after the export, so that it cannot be translated
            again (OW825).

    Example:
        >>> import torch
        >>> from onnxwright.exporter import export
        >>> program = export(torch.nn.Linear(2, 3, bias=False), (torch.ones(4, 1, 2),))
        >>> program.model.graph.initializers["weight"].shape
        Shape([2, 3])
        >>> with_weights_of_module(program).graph.initializers["weight"].shape
        Shape([3, 2])
    """
    derived = [n for n, v in program.model.graph.initializers.items() if is_derived(v)]
    model: ir.Model = program.model
    if not derived:
        return model
    expected_nodes = _nodes(model)
    optimized = next(
        (o for o in (True, False) if _nodes(_again(program, o)) == expected_nodes), None
    )
    if optimized is None:
        shown = ", ".join(f"`{name}`" for name in derived[:_SHOWN])
        checks.raise_bad_argument(
            "include_initializers",
            f"weights of the model are made of those of the module ({shown}), and the model was "
            "changed after the export",
            "save the program that `ow.export` gives, or export with `optimize=False` before you "
            "change it",
        )
    new_model = _again(program, optimized, keep_weights=True)
    new_model.metadata_props.update(model.metadata_props)
    renamed: dict[str, str] = {}
    for new, old in zip(new_model.graph.inputs, model.graph.inputs, strict=True):
        for one, two in zip(new.shape or (), old.shape or (), strict=True):
            if isinstance(one, ir.SymbolicDim) and isinstance(two, ir.SymbolicDim) and one != two:
                renamed[str(one.value)] = str(two.value)
    rename(new_model, renamed)
    return new_model


def _again(program: Any, optimized: bool, *, keep_weights: bool = False) -> ir.Model:
    """What `ow.export` made of the captured program."""
    captured = program._captured
    settings = dataclasses.replace(program._settings, keep_weights=keep_weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OnnxwrightWarning)  # given by the export
        built = build(captured.program, settings)
        new_program = type(program)(built, captured, program.report, settings)
        if optimized:
            new_program.optimize(weights=not keep_weights)
        version = program.model.graph.opset_imports[""]
        if new_program.model.graph.opset_imports[""] != version:
            convert_in_place(new_program.model, version, ("nonempty",))
    result: ir.Model = new_program.model
    return result


def _nodes(model: ir.Model) -> list[Any]:
    """What tells whether two models are of one export: operators and the values they make."""
    graphs: list[Any] = [model.graph, *model.functions.values()]
    return [
        (node.domain, node.op_type, [v.name for v in node.outputs])
        for graph in graphs
        for node in all_nodes(graph)
    ]
