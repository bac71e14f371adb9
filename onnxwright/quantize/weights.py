"""The weights of products and tables: constants behind Transpose, Cast and Identity.

A `WeightUse` is a node, the operand, and how the operand is computed from a constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from onnxwright.ir.nested import all_graphs
from onnxwright.ir.saving import read_tensor
from onnxwright.quantize.models import root_graphs

FLOATS = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)
Step: TypeAlias = "tuple[int, ...] | ir.DataType | None"


@dataclass(frozen=True)
class Source:
    """An operand as it is computed from a constant.

    Fields:
        value: the initializer, the output of a Constant, or the input of a function.
        tensor: what it holds; None for the input of a function.
        steps: what is done with it: a permutation (Transpose), an element type (Cast), or None for
            axes reversed.
    """

    value: ir.Value
    tensor: Any
    steps: tuple[Step, ...] = ()

    @property
    def key(self) -> tuple[int, tuple[Step, ...]]:
        """Equal for equal operands."""
        return id(self.value), self.steps

    @property
    def dtype(self) -> ir.DataType | None:
        """The element type of the operand."""
        kinds = [step for step in self.steps if isinstance(step, ir.DataType)]
        kind: ir.DataType | None = kinds[-1] if kinds else self.value.dtype
        if not kinds and self.tensor is not None:
            kind = self.tensor.dtype
        return kind

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the operand; of a function's input, empty."""
        if self.tensor is None:
            return ()
        shape = tuple(int(n) for n in self.tensor.shape)
        for step in self.steps:
            if step is None:
                shape = shape[::-1]
            elif isinstance(step, tuple):
                shape = tuple(shape[n] for n in step)
        return shape

    def read(self) -> Any:
        """The operand as an array; a transposed one is a view."""
        array = read_tensor(self.tensor)
        for step in self.steps:
            if step is None or isinstance(step, tuple):
                array = np.transpose(array, step)
            else:
                with np.errstate(over="ignore"):
                    array = array.astype(step.numpy())
        return array

    def release(self) -> None:
        """Let go of the numbers of a tensor that is in a file."""
        release = getattr(self.tensor, "release", None)
        if release is not None:
            release()


@dataclass(frozen=True)
class WeightUse:
    """A node that reads a weight.

    Fields:
        node: MatMul, Gemm, Gather, or the call of a function that multiplies with it.
        operand: the place of the weight among the inputs.
        source: where it comes from.
        graph: the graph of the node.
        constants: whether new weights of the graph are Constant nodes: it is that of a function.
        opset: the version of the default domain there.
        transposed: whether the operand has the shape (N, K), not (K, N).
        reason: why it stays what it is; empty where it can be quantized.
    """

    node: ir.Node
    operand: int
    source: Source
    graph: ir.Graph
    constants: bool
    opset: int
    transposed: bool = False
    reason: str = ""

    @property
    def label(self) -> str:
        """The node for a report."""
        return f"{self.node.op_type} {self.node.name or self.node.outputs[0].name}"

    @property
    def matrix_shape(self) -> tuple[int, ...]:
        """The shape as it is multiplied with: (K, N)."""
        shape = self.source.shape
        return shape[::-1] if self.transposed else shape


def source_of(value: ir.Value | None) -> Source | None:
    """How a value is computed from a constant or from an input of a function.

    Args:
        value: the operand of a node.

    Returns:
        The source; None where it is computed from something else.
    """
    steps: list[Step] = []
    while value is not None:
        node = value.producer()
        if node is None:
            if value.is_initializer() and value.const_value is not None:
                return Source(value, value.const_value, tuple(reversed(steps)))
            return Source(value, None, tuple(reversed(steps))) if value.is_graph_input() else None
        if node.domain:
            return None
        if node.op_type == "Constant" and "value" in node.attributes:
            attribute = node.attributes["value"]
            if attribute.is_ref():
                return None
            return Source(value, attribute.as_tensor(), tuple(reversed(steps)))
        if node.op_type == "Transpose":
            perm = node.attributes.get("perm")
            if perm is not None and perm.is_ref():
                return None
            steps.append(None if perm is None else tuple(perm.as_ints()))
        elif node.op_type == "Cast":
            to = node.attributes.get("to")
            if to is None or to.is_ref():
                return None
            steps.append(ir.DataType(to.as_int()))
        elif node.op_type != "Identity":
            return None
        value = node.inputs[0] if node.inputs else None
    return None


def weight_uses(model: ir.Model, *, embeddings: bool) -> Iterator[WeightUse]:
    """The nodes of a model that read a weight of floats as a matrix or, if asked, as a table.

    Args:
        model: the model, its functions and bodies included.
        embeddings: whether Gather is looked at.

    Yields:
        Each use, also those that cannot be quantized, with the reason.
    """
    params = _function_params(model)
    for root, is_function in root_graphs(model):
        opset = int(root.opset_imports.get("", 1))
        for graph in all_graphs(root):
            place = (graph, is_function and graph is root, opset)
            for node in graph:
                yield from _uses(node, place, params, embeddings)


def _uses(
    node: ir.Node,
    where: tuple[ir.Graph, bool, int],
    params: dict[Any, dict[int, tuple[bool, str]]],
    embeddings: bool,
) -> Iterator[WeightUse]:
    for place, (transposed, reason) in _operands(node, params, embeddings).items():
        source = source_of(node.inputs[place]) if place < len(node.inputs) else None
        if source is None or source.tensor is None or not _is_floating(source.tensor.dtype):
            continue
        if _is_floating(source.dtype) and (len(source.shape) > 1 or node.op_type != "Gather"):
            reason = reason or _reason(node, source)
            yield WeightUse(node, place, source, *where, transposed, reason)


def _is_floating(dtype: ir.DataType | None) -> bool:
    return dtype in FLOATS or dtype is ir.DataType.DOUBLE


def _operands(
    node: ir.Node, params: dict[Any, dict[int, tuple[bool, str]]], embeddings: bool
) -> dict[int, tuple[bool, str]]:
    """The operands of a node that may be weights: whether transposed, and why not."""
    called = params.get(node.op_identifier())
    if called is not None:
        return called
    if node.domain:
        return {}
    if node.op_type in ("MatMul", "Gemm"):
        first = (False, "it is the first operand of the product; blocks lie along the second")
        return {0: first, 1: (_reads_transposed(node), "")}
    if node.op_type == "Gather" and embeddings:
        axis = node.attributes.get("axis")
        other = axis is not None and (axis.is_ref() or axis.as_int() not in (0, -2))
        return {0: (True, "rows are gathered along another axis than the first" if other else "")}
    return {}


def _reads_transposed(node: ir.Node) -> bool:
    flag = node.attributes.get("transB")
    return flag is not None and not flag.is_ref() and bool(flag.as_int())


def _reason(node: ir.Node, source: Source) -> str:
    """Why a weight stays what it is; empty where nothing speaks against it."""
    if source.value.is_graph_input():
        return "it is an input of the model as well: see `inputs_to_initializers`"
    if ir.DataType.DOUBLE in (source.tensor.dtype, source.dtype):
        return "its elements are DOUBLE; FLOAT, FLOAT16 and BFLOAT16 are quantized"
    if len(source.shape) < 2:
        return "it is not a matrix"
    if len(source.shape) != 2:
        # ONNX Runtime 1.32 fuses DequantizeLinear with products of matrices only; over a stack of
        # eight matrices it takes 18 times the time of the product of floats.
        return (
            f"it has {len(source.shape)} axes: ONNX Runtime would dequantize all of it in each run"
        )
    if any(attribute.is_ref() for attribute in node.attributes.values()):
        return "an attribute of the node is a parameter of its function"
    return ""


def _function_params(model: ir.Model) -> dict[Any, dict[int, tuple[bool, str]]]:
    """For each function the inputs that are weights of products: whether transposed, and why not.

    Functions that call others come after these, so that weights are followed through all calls.
    """
    by_function: dict[Any, dict[int, tuple[bool, str]]] = {}
    for _ in range(len(model.functions)):
        before = {key: dict(value) for key, value in by_function.items()}
        for key, function in model.functions.items():
            by_function[key] = _weights_among(function, by_function)
        if by_function == before:
            break
    return by_function


def _weights_among(
    function: ir.Function, by_function: dict[Any, Any]
) -> dict[int, tuple[bool, str]]:
    inputs = {id(value): place for place, value in enumerate(function.inputs)}
    ways: dict[int, list[bool]] = {}
    for graph in all_graphs(function.graph):
        for node in graph:
            for place, (transposed, reason) in _operands(node, by_function, False).items():
                source = source_of(node.inputs[place]) if place < len(node.inputs) else None
                if source is None or reason or id(source.value) not in inputs:
                    continue
                turned = sum(step is None or step == (1, 0) for step in source.steps) % 2 == 1
                if all(step in (None, (1, 0)) for step in source.steps):
                    ways.setdefault(inputs[id(source.value)], []).append(turned != transposed)
    return {
        place: (flags[0], "" if _only_products(function.inputs[place], len(flags)) else _SHARED)
        for place, flags in ways.items()
    }


_SHARED = "the function that reads it uses it for more than products"


def _only_products(value: ir.Value, count: int) -> bool:
    """Whether products alone read an input, directly or transposed."""
    readers, stack = 0, [value]
    while stack:
        now = stack.pop()
        if now.is_graph_output():
            return False
        for use in now.uses():
            if use.node.op_type in ("Transpose", "Identity") and not use.node.domain:
                stack.append(use.node.outputs[0])
            else:
                readers += 1
    return readers == count
