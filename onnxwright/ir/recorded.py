"""What a recorder knows of a graph under construction: values, scopes, checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onnxwright.types.kinds import OnnxType
from onnxwright.types.shapes import Shape


@dataclass(slots=True)
class ValueInfo:
    """What is known of one value.

    Attributes:
        type: its type, as far as known.
        const_value: its array, if it is a constant.
        shape_value: a small integer vector or scalar as a shape: its dimensions, names among them.
        same_dtype_as: for a value of unknown element type, another that surely has the same.
        annotated: the type that the author wrote beside its name.
    """

    type: OnnxType | None = None
    const_value: np.ndarray[Any, Any] | None = None
    shape_value: Shape | None = None
    same_dtype_as: ir.Value | None = None
    annotated: OnnxType | None = None


class KnownValues:
    """What is known of the values of a graph.

    Attributes:
        values: the record of each value.
    """

    def __init__(self) -> None:
        self.values: dict[ir.Value, ValueInfo] = {}

    def info(self, value: ir.Value) -> ValueInfo:
        """The record of a value; a new one where there is none."""
        found = self.values.get(value)
        if found is None:
            found = self.values[value] = ValueInfo()
        return found

    def type_of(self, value: ir.Value) -> OnnxType | None:
        """The type of a value, as far as known."""
        found = self.values.get(value)
        return None if found is None else found.type

    def set_type(self, value: ir.Value, kind: OnnxType | None) -> None:
        """Record the type of a value."""
        self.info(value).type = kind

    def const_value(self, value: ir.Value) -> np.ndarray[Any, Any] | None:
        """The array of a constant."""
        found = self.values.get(value)
        return None if found is None else found.const_value

    def shape_value(self, value: ir.Value) -> Shape | None:
        """The dimensions that a small integer tensor holds, as far as known."""
        found = self.values.get(value)
        return None if found is None else found.shape_value

    def same_dtype_as(self, value: ir.Value) -> ir.Value | None:
        """For a value of unknown element type: another that surely has the same."""
        found = self.values.get(value)
        return None if found is None else found.same_dtype_as

    def known_types(self) -> list[OnnxType | None]:
        """The types of all values."""
        return [info.type for info in self.values.values()]


@dataclass
class Scope:
    """One graph being written: its inputs, its nodes, and the constants made in it."""

    inputs: list[ir.Value] = field(default_factory=list)
    nodes: list[ir.Node] = field(default_factory=list)
    # Equal calls and equal constants are made once: key -> their values.
    shared: dict[object, tuple[ir.Value, ...]] = field(default_factory=dict)
    made: dict[ir.Value, None] = field(default_factory=dict)
    mark: int = 0
    initializers: dict[ir.Value, Any] = field(default_factory=dict)

    def tables(self) -> tuple[dict[Any, Any], ...]:
        """The tables that only grow while the graph is written."""
        return (self.shared, self.made, self.initializers)


class Checkpoint(NamedTuple):
    """How much a recorder held at one moment: what comes later can be undone."""

    scopes: tuple[tuple[Scope, int, tuple[int, ...]], ...]
    names: int
    nodes: int
    values: int
    declared: int
    uses: int
    opsets: int
    warnings: int
    undo: int
    last_origin: str | None


def shorten(table: dict[Any, Any], size: int, pinned: set[ir.Value]) -> None:
    """Take away the newest entries of a table, except those of pinned values."""
    kept = []
    while len(table) > size:
        key, held = table.popitem()
        if key in pinned or (isinstance(held, tuple) and held and held[0] in pinned):
            kept.append((key, held))
    table.update(reversed(kept))


__all__ = ["Checkpoint", "KnownValues", "Scope", "ValueInfo", "shorten"]
