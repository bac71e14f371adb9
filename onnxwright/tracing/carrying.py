"""`Carrier`: names, notes and types of a source graph, given to what is made from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import onnx_ir as ir

from onnxwright.ir import adapters
from onnxwright.ir.adapters import OtherType, from_type_proto
from onnxwright.ir.serialize import QUANTIZATION
from onnxwright.ir.stored import notes_of, props_of
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Dim

RULES = "onnxwright.rules"
"""The key of `metadata_props` that names the rules which made a node."""


class Carrier:
    """Gives values and nodes the names and notes of those they are made from.

    A value keeps its name if the operator that makes it survives.

    Args:
        names: whether names are kept; in a function that is inlined they are not.
    """

    def __init__(self, *, names: bool = True) -> None:
        self._names = names
        self._named: dict[ir.Value, str] = {}
        self._inner: Carrier | None = None
        # Types that are written on values; each shape is kept, so that no other one has its `id`.
        self._kinds: dict[tuple[int, ir.DataType], tuple[OnnxType | None, ir.Shape]] = {}

    def inner(self) -> Carrier:
        """The carrier for the body of a function that is inlined."""
        if not self._names:
            return self
        if self._inner is None:
            self._inner = Carrier(names=False)
        return self._inner

    def name(self, b: GraphBackend, source: ir.Value, replayed: GraphValue) -> None:
        """Give a value the name of its source, unless it has the name of another source."""
        value, name = replayed.value, source.name
        if not self._names or not name or value in self._named:
            return
        holder = b.recorder.holders.get(name)
        if holder is not None and holder in self._named and holder not in b.recorder.dropped:
            return
        self._named[value] = name
        value.name = name
        b.recorder.holders[name] = value

    def has_name(self, value: ir.Value) -> bool:
        """Whether a value has the name of a source."""
        return value in self._named

    def pass_on(self, b: GraphBackend, old: ir.Value, new: ir.Value, name: str) -> None:
        """Let one value have the name that another one had.

        Args:
            old: the value that has it no more.
            new: the value that takes its place.
        """
        self._named.pop(old, None)
        self._named[new] = name
        new.name = name
        b.recorder.holders[name] = new

    def carry(
        self,
        b: GraphBackend,
        node: ir.Node,
        results: Sequence[GraphValue | None],
        before: int,
    ) -> list[GraphValue | None]:
        """The results of a node with its names, its notes, and what its types say in addition.

        Args:
            before: how many nodes the innermost graph had before.

        Returns:
            The results, of more exact types where the source knew more.
        """
        fresh = b.recorder.scope.nodes[before:]
        if props_of(node) and node not in fresh:
            note_nodes(fresh, [node])
        if fresh and not fresh[-1].name:
            fresh[-1].name = node.name
            fresh[-1].doc_string = node.doc_string
        return [
            None if r is None else self.result(b, v, r, fresh)
            for v, r in zip(node.outputs, results)
        ]

    def result(
        self, b: GraphBackend, source: ir.Value, replayed: GraphValue, fresh: Sequence[ir.Node]
    ) -> GraphValue:
        """One result with the name, notes and type of its source, if it is new."""
        value = replayed.value
        producer = value.producer()
        if producer is None:
            if value in b.pool and value.name is None:
                self.name(b, source, replayed)
            return replayed
        if producer not in fresh:
            return replayed
        self.name(b, source, replayed)
        standard = producer.domain == ""
        if value is source:  # its node has been kept
            source_type = self._written(source)
            kind = meet(replayed.kind, source_type, trusted=not standard)
            if kind != source_type and not source.is_graph_output():
                adapters.set_type(value, kind, shares=True)
            if kind == replayed.kind:
                return replayed
            b.recorder.set_type(value, kind)
            return b.wrap(value, kind, b.weak_kind(replayed))
        if props_of(source):
            value.metadata_props.update(source.metadata_props)
        if QUANTIZATION in notes_of(source):
            value.meta.setdefault(QUANTIZATION, source.meta[QUANTIZATION])
        if source.doc_string:
            value.doc_string = value.doc_string or source.doc_string
        kind = meet(replayed.kind, self._written(source), trusted=not standard)
        if kind != replayed.kind:
            b.recorder.set_type(value, kind)
            adapters.set_type(value, kind, shares=True)
            return b.wrap(value, kind, b.weak_kind(replayed))
        return replayed

    def _written(self, value: ir.Value) -> OnnxType | None:
        """As `kind_of`: the values of a model that was read have few shapes, and share them."""
        shape = value.shape
        if shape is None or not shape.frozen or type(value.type) is not ir.TensorType:
            return kind_of(value)
        key = (id(shape), value.type.dtype)
        held = self._kinds.get(key)
        if held is None:
            held = self._kinds[key] = (kind_of(value), shape)
        return held[0]


def note_nodes(fresh: Iterable[ir.Node], sources: Sequence[ir.Node]) -> None:
    """Give new nodes the `metadata_props` of the nodes they are made from."""
    for new in fresh:
        for source in sources:
            for key, text in props_of(source).items():
                new.metadata_props.setdefault(key, text)


def kind_of(value: ir.Value) -> OnnxType | None:
    """The type that a value of onnx_ir has.

    Returns:
        Its type, as far as it is written on it.

    Example:
        >>> str(
        ...     kind_of(
        ...         ir.Value(
        ...             name="x", shape=ir.Shape(["N", 2]), type=ir.TensorType(ir.DataType.FLOAT)
        ...         )
        ...     )
        ... )
        'FLOAT[N, 2]'
    """
    if value.type is None:
        return None if value.shape is None else TensorType(None, _dims(value.shape))
    if type(value.type) is ir.TensorType:
        number = int(value.type.dtype)
        shape = None if value.shape is None else _dims(value.shape)
        return TensorType(DType(number) if number else None, shape)
    held: Any = value.type
    if isinstance(held, OtherType):
        return held.kind
    return from_type_proto(ir.to_proto(value).type)


def _dims(shape: ir.Shape) -> tuple[Dim, ...]:
    return tuple((d if d >= 0 else None) if isinstance(d, int) else d.value for d in shape)


def meet(a: OnnxType | None, b: OnnxType | None, *, trusted: bool = True) -> OnnxType | None:
    """What is known of a type from inference and from what a model says.

    Args:
        a: the inferred type; it is right.
        b: what the model says, which may be older than its inputs.
        trusted: whether sizes the model says are believed; names and ranks always are.

    Returns:
        `a`, with what it leaves open taken from `b`.
    """
    if a is None:
        return b
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return a
    dtype, shape = a.dtype or b.dtype, a.shape
    if b.shape is not None:
        if shape is None:
            shape = tuple(d if trusted or isinstance(d, str) else None for d in b.shape)
        elif None in shape and len(shape) == len(b.shape):
            shape = tuple(
                old if mine is None and (trusted or isinstance(old, str)) else mine
                for mine, old in zip(shape, b.shape, strict=True)
            )
    return a if dtype is a.dtype and shape == a.shape else TensorType(dtype, shape)
