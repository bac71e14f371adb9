"""Dynamic dimensions of an exported model under other names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import onnx_ir as ir

from onnxwright.exporter import checks
from onnxwright.exporter.shown import shown
from onnxwright.types import dims

_ARGUMENT = "rename_mapping"


def checked(model: ir.Model, mapping: Mapping[Any, str]) -> dict[str, str]:
    """A renaming with names only.

    Args:
        mapping: names of dimensions, or dimensions -> new names.

    Raises:
        ExportValueError: the model has no such dimension, or a name cannot be one (OW825).
    """
    known = dict.fromkeys(n for v in _values(model) for d in _symbols(v) for n in dims.names_in(d))
    found: dict[str, str] = {}
    new: Any
    for key, new in mapping.items():
        old = str(key.value) if isinstance(key, ir.SymbolicDim) else key
        if old not in known:
            names = ", ".join(known) or "none"
            checks.raise_bad_argument(
                _ARGUMENT, f"the model has no dimension `{old}`", f"it has {names}"
            )
        if not isinstance(new, str) or not new.isidentifier():
            hint = "give a name of letters, digits and underscores"
            checks.raise_bad_argument(
                _ARGUMENT, f"{shown(new)} cannot be the name of a dimension", hint
            )
        found[str(old)] = new
    return found


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
        found = [*graph.inputs, *graph.initializers.values()]
        for node in graph:
            found += node.outputs
            for attr in node.attributes.values():
                if not attr.is_ref() and attr.type is ir.AttributeType.GRAPH:
                    graphs.append(attr.as_graph())
                elif not attr.is_ref() and attr.type is ir.AttributeType.GRAPHS:
                    graphs.extend(attr.as_graphs())
        for value in found:
            if id(value) not in seen:
                seen.add(id(value))
                yield value
