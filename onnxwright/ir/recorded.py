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
        origin: the place in the source that made it.
        annotated: the type that the author wrote beside its name.
    """

    type: OnnxType | None = None
    const_value: np.ndarray[Any, Any] | None = None
    shape_value: Shape | None = None
    same_dtype_as: ir.Value | None = None
    origin: str | None = None
    annotated: OnnxType | None = None


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


__all__ = ["Checkpoint", "Scope", "ValueInfo", "shorten"]
