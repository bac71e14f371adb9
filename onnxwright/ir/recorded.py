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
    """What is known of one value beside its type.

    Attributes:
        const_value: its array, if it is a constant.
        shape_value: a small integer vector or scalar as a shape: its dimensions, names among them.
        same_dtype_as: for a value of unknown element type, another that surely has the same.
        annotated: the type that the author wrote beside its name.
    """

    const_value: np.ndarray[Any, Any] | None = None
    shape_value: Shape | None = None
    same_dtype_as: ir.Value | None = None
    annotated: OnnxType | None = None


class KnownValues:
    """What is known of the values of a graph.

    Attributes:
        types: all values, each with its type as far as known.
        infos: the records of those of which more is known.
    """

    def __init__(self) -> None:
        self.types: dict[ir.Value, OnnxType | None] = {}
        self.infos: dict[ir.Value, ValueInfo] = {}

    def info(self, value: ir.Value) -> ValueInfo:
        """The record of a value; a new one where there is none."""
        info = self.infos.get(value)
        if info is None:
            self.types.setdefault(value, None)
            info = self.infos[value] = ValueInfo()
        return info

    def forget_value(self, value: ir.Value) -> None:
        """Know nothing of a value any more."""
        self.types.pop(value, None)
        self.infos.pop(value, None)

    def type_of(self, value: ir.Value) -> OnnxType | None:
        """The type of a value, as far as known."""
        return self.types.get(value)

    def set_type(self, value: ir.Value, kind: OnnxType | None) -> None:
        """Record the type of a value."""
        self.types[value] = kind

    def const_value(self, value: ir.Value) -> np.ndarray[Any, Any] | None:
        """The array of a constant."""
        info = self.infos.get(value)
        return None if info is None else info.const_value

    def shape_value(self, value: ir.Value) -> Shape | None:
        """The dimensions that a small integer tensor holds, as far as known."""
        info = self.infos.get(value)
        return None if info is None else info.shape_value

    def same_dtype_as(self, value: ir.Value) -> ir.Value | None:
        """For a value of unknown element type: another that surely has the same."""
        info = self.infos.get(value)
        return None if info is None else info.same_dtype_as


@dataclass
class Scope:
    """One graph being written: its inputs, its nodes, and the constants made in it."""

    inputs: list[ir.Value] = field(default_factory=list)
    nodes: list[ir.Node] = field(default_factory=list)
    # Equal calls and equal constants are made once: key -> their values.
    shared: dict[object, tuple[ir.Value, ...]] = field(default_factory=dict)
    values: dict[ir.Value, None] = field(default_factory=dict)
    mark: int = 0
    initializers: dict[ir.Value, Any] = field(default_factory=dict)

    def tables(self) -> tuple[dict[Any, Any], ...]:
        """The tables that only grow while the graph is written."""
        return (self.shared, self.values, self.initializers)

    def sizes(self) -> tuple[int, int, int]:
        """How many entries these tables have."""
        return (len(self.shared), len(self.values), len(self.initializers))


class Checkpoint(NamedTuple):
    """How much a recorder held at one moment: what comes later can be undone."""

    scopes: tuple[tuple[Scope, int, tuple[int, ...]], ...]
    names: int
    nodes: int
    types: int
    infos: int
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
