"""Checks of what replacements give: whether types surely agree, and which nodes are added."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import onnx_ir as ir

from onnxwright.optimizer.constants import tensor_of
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.kinds import OnnxType, SequenceType, TensorType


def fits(old: OnnxType | None, new: OnnxType | None, *, names: bool = True) -> bool:
    """Whether a value of one type may surely take the place of one of another.

    Args:
        old: the type of what is replaced.
        new: the type of what takes its place.
        names: whether dimensions of different names are different; names that nobody inferred
            (as `M` of an output that is `3*N`) may be equal all the same.

    Returns:
        False where element types, ranks or known dimensions differ.

    Example:
        >>> from onnxwright.types.dtypes import DType
        >>> fits(TensorType(DType.FLOAT, ("N", 4)), TensorType(DType.FLOAT, ("N", None)))
        True
        >>> fits(TensorType(DType.FLOAT, ("N", 4)), TensorType(DType.FLOAT, (1, 4)))
        False
    """
    if isinstance(old, SequenceType) and isinstance(new, SequenceType):
        return fits(old.elem, new.elem, names=names)
    if not isinstance(old, TensorType) or not isinstance(new, TensorType):
        return old is None or new is None or old == new
    if old.dtype is not None and new.dtype is not None and old.dtype is not new.dtype:
        return False
    if old.shape is None or new.shape is None:
        return True
    if len(old.shape) != len(new.shape):
        return False
    return all(
        a is None or b is None or a == b
        or (not names and isinstance(a, str) and isinstance(b, str))
        for a, b in zip(old.shape, new.shape, strict=True)
    )  # fmt: skip


def without_new_names(kind: OnnxType | None, output: ir.Value) -> OnnxType | None:
    """The declared type of a graph output, without dimensions in names that no input has."""
    if not isinstance(kind, TensorType) or not any(isinstance(d, str) for d in kind.shape or ()):
        return kind
    inputs = output.graph.inputs if output.graph is not None else ()
    names = {n for v in inputs for d in v.shape or () for n in _NAME.findall(str(d))}
    shape = [
        None if isinstance(d, str) and not names.issuperset(_NAME.findall(d)) else d
        for d in kind.shape or ()
    ]
    return TensorType(kind.dtype, tuple(shape))


_NAME = re.compile(r"[^\W\d]\w*")


def computed(
    values: Sequence[GraphValue], fresh: Sequence[ir.Node], b: GraphBackend
) -> list[ir.Node]:
    """The new nodes that the results need and that are not made of constants alone."""
    inside = set(fresh)
    frozen = {node for node in fresh if _is_made_of_constants(node, b)}
    nodes: dict[ir.Node, None] = {}
    waiting = [v.value.producer() for v in values]
    while waiting:
        maker = waiting.pop()
        if maker is None or maker not in inside or maker in nodes or maker in frozen:
            continue
        nodes[maker] = None
        waiting += [v.producer() for v in maker.inputs if v is not None]
    return list(nodes)


def _is_made_of_constants(node: ir.Node, b: GraphBackend, steps: int = 8) -> bool:
    """Whether constants alone lead to a new node; an earlier replacement may have made some."""
    if not any(node.inputs):
        return False
    for value in node.inputs:
        if value is None or value in b.pool:
            continue
        maker = value.producer()
        if maker is None or not steps or not _is_made_of_constants(maker, b, steps - 1):
            return False
    return True


def taken_away(
    nodes: Iterable[ir.Node],
    env: Mapping[ir.Value, GraphValue | None],
    values: Sequence[GraphValue],
    added: Sequence[ir.Node],
) -> list[ir.Node]:
    """The nodes of a match that are gone: neither of constants alone nor read by what is new.

    Args:
        nodes: the nodes of the match.
        env: the values that replace those of the source graph.
        values: the results of the replacement.
        added: its new nodes.
    """
    used = {v.value for v in values} | {v for n in added for v in n.inputs}
    images = {n: [env.get(v) for v in n.outputs] for n in nodes}
    return [
        n
        for n, image in images.items()
        if not is_frozen(n) and not any(v is not None and v.value in used for v in image)
    ]


def is_frozen(node: ir.Node) -> bool:
    """Whether a node of the source graph reads constants alone."""
    return bool(node.inputs) and all(v is None or tensor_of(v) is not None for v in node.inputs)
