"""Values of a model that random numbers are in: two runs differ, so that only shapes compare."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch
from torch.export.graph_signature import OutputKind

from onnxwright.exporter.program.verification import OutputCheck
from onnxwright.ir.nested import all_nodes, subgraphs
from onnxwright.operators import facts

_TRAINING_MODE = 2  # which input of Dropout says that it drops elements
_NAME = re.compile(r"[^\W\d]\w*")


class Draws:
    """What draws random numbers in a model: nodes, and functions that have such nodes."""

    def __init__(self, model: ir.Model) -> None:
        self.model = model
        self._functions: dict[Any, bool] = {}

    def node(self, node: ir.Node) -> bool:
        """Whether a node draws random numbers, or nodes of its bodies do."""
        if facts(node.op_type, node.domain).random:
            if node.op_type != "Dropout":
                return True
            inputs = node.inputs
            return len(inputs) > _TRAINING_MODE and inputs[_TRAINING_MODE] is not None
        if any(self.node(inner) for graph in subgraphs(node) for inner in all_nodes(graph)):
            return True
        key = node.op_identifier()
        if key not in self.model.functions:
            return False
        if key not in self._functions:
            body = self.model.functions[key]
            self._functions[key] = any(self.node(inner) for inner in all_nodes(body))
        return self._functions[key]

    def any(self) -> bool:
        """Whether the model draws random numbers."""
        return any(self.node(node) for node in self.model.graph)

    def values(self) -> set[ir.Value]:
        """The values of the main graph that random numbers are in."""
        drawn_values: set[ir.Value] = set()
        for node in self.model.graph:
            read = {v for inner in all_nodes([node]) for v in inner.inputs if v is not None}
            if not drawn_values.isdisjoint(read) or self.node(node):
                drawn_values.update(node.outputs)
        return drawn_values


def random_outputs(program: Any) -> dict[str, list[bool]]:
    """The outputs of a program that random numbers are in.

    Returns:
        For `output 0` and so on, and `new value of NAME`, whether the size of each axis follows
        from the sizes of the inputs: random numbers may decide about the others.
    """
    drawn = {v.name: v for v in Draws(program.model).values()}
    input_dims = {
        n for v in program.model.graph.inputs for d in v.shape or () for n in _names(d)
    } - {"?"}
    sized_axes: dict[str, list[bool]] = {}
    count = 0
    for entry, name in program._built.outputs:
        is_result = entry.kind is OutputKind.USER_OUTPUT
        label = f"output {count}" if is_result else f"new value of {entry.target}"
        count += is_result
        if name in drawn:
            sized_axes[label] = [set(_names(dim)) <= input_dims for dim in drawn[name].shape or ()]
    return sized_axes


def compared_without_values(
    name: str, run: str, ours: Any, theirs: Any, is_sized: Sequence[bool]
) -> OutputCheck:
    """Compare the type and the shape of an output that random numbers are in.

    Args:
        is_sized: whether the size of each axis is the same at each run.
    """
    got, expected = (_kind(value, is_sized) for value in (ours, theirs))
    if got == expected:
        return OutputCheck(name, run, 0.0, 0.0)
    return OutputCheck(name, run, math.inf, math.inf, f"{got}, PyTorch has {expected}")


def _names(dim: Any) -> list[str]:
    """The names in a dimension; one that nothing has where it is not known."""
    if isinstance(dim, int):
        return []
    return _NAME.findall(dim.value) if dim.value is not None else ["?"]


def _kind(value: Any, is_sized: Sequence[bool]) -> str:
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    sized_axes = is_sized if len(is_sized) == value.ndim else [False] * value.ndim
    sizes = (str(n) if k else "?" for n, k in zip(value.shape, sized_axes, strict=True))
    return f"{value.dtype} [{', '.join(sizes)}]"
