"""What a name can hold while a function is lowered, beside Python objects and graph values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.semantics.backend import Promotable, is_value
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import cast, emit1, gather, int_constant
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import AttrKind, OnnxType, TensorType
from onnxwright.types.roles import AttributeReference


class AttributeRef(AttributeReference, Promotable):
    """An attribute parameter of a function whose value the caller gives.

    As an attribute of an op it is a reference; where a tensor is needed it is promoted to one.
    """

    _PROMOTED: ClassVar[dict[AttrKind, tuple[str, str | None]]] = {
        AttrKind.INT: ("value_int", "int"),
        AttrKind.BOOL: ("value_int", "int"),
        AttrKind.FLOAT: ("value_float", "float"),
        AttrKind.STRING: ("value_string", None),
        AttrKind.INTS: ("value_ints", "int"),
        AttrKind.BOOLS: ("value_ints", "int"),
        AttrKind.FLOATS: ("value_floats", "float"),
        AttrKind.STRINGS: ("value_strings", None),
        AttrKind.TENSOR: ("value", None),
    }

    def __init__(self, name: str, kind: AttrKind, *, optional: bool = False) -> None:
        super().__init__(name, kind)
        self.optional = optional

    def __repr__(self) -> str:
        return f"attribute {self.name}"

    @property
    def weak_kind(self) -> str | None:
        if self.kind is AttrKind.BOOL:
            return "bool"
        return self._PROMOTED.get(self.kind, ("", None))[1]

    @property
    def can_promote(self) -> bool:
        """Whether it can become a tensor."""
        return self.kind in self._PROMOTED

    def as_value(self, b: GraphBackend, dtype: DType | None = None) -> GraphValue:
        """The attribute as a value of the graph: a Constant that refers to it."""
        key = ("attribute", self.name)
        root = b.recorder.scopes[0]
        weak = self.weak_kind
        if key not in root.shared:
            # At the start of the function: some runtimes resolve no references in subgraphs.
            with b.recorder.at_start():
                value = emit1(b, "Constant", (), "", **self._fields())
                if self.kind in (AttrKind.BOOL, AttrKind.BOOLS):
                    value = cast(b, value, DType.BOOL)
                root.shared[key] = (value.value,)
        (constant,) = root.shared[key]
        return b.wrap(constant, b.recorder.type_of(constant), weak)

    def _fields(self) -> dict[str, Any]:
        field = self._PROMOTED[self.kind][0]
        return {field: AttributeReference(self.name, _FIELD_KINDS[field])}


_FIELD_KINDS = {
    "value_int": AttrKind.INT,
    "value_float": AttrKind.FLOAT,
    "value_string": AttrKind.STRING,
    "value_ints": AttrKind.INTS,
    "value_floats": AttrKind.FLOATS,
    "value_strings": AttrKind.STRINGS,
    "value": AttrKind.TENSOR,
}


@dataclass(frozen=True, eq=False)
class TensorMethod:
    """A method of a tensor, `x.sum`, before it is called."""

    of: GraphValue
    name: str


@dataclass(frozen=True)
class Poison:
    """The value of a name that has none: reading it raises `diagnostic` at the reader."""

    diagnostic: Diagnostic


class ShapeTuple(tuple[Any, ...], Promotable):  # noqa: SLOT001 - it carries its tensor
    """`x.shape` with a known rank: its parts, and the tensor it is the shape of."""

    of: GraphValue

    def as_value(self, b: GraphBackend, dtype: DType | None = None) -> GraphValue:
        """The shape as a tensor: a constant if known, else one Shape op."""
        if all(isinstance(d, int) for d in self):
            return b.constant(np.array(list(self), dtype=np.int64))
        shape: GraphValue = emit1(b, "Shape", (self.of,))
        return shape


class RunTimeContainer(Promotable):
    """A container whose length the model decides; as a value of the graph it is of `kind`."""

    @property
    def kind(self) -> OnnxType:
        """The type of the value."""
        raise NotImplementedError


def shape_of_value(b: GraphBackend, x: GraphValue) -> Any:
    """`x.shape`: a tuple where the rank is known (unknown sizes are read at run time)."""
    kind = b.type_of(x)
    shape = kind.shape if isinstance(kind, TensorType) else None
    if shape is None:
        return b.as_weak(emit1(b, "Shape", (x,)), "int")
    dims: list[Any] = []
    whole = None
    for axis, dim in enumerate(shape):
        if isinstance(dim, int):
            dims.append(dim)
            continue
        if whole is None:
            whole = emit1(b, "Shape", (x,))
        dims.append(b.as_weak(gather(b, whole, int_constant(b, axis)), "int"))
    dims_tuple = ShapeTuple(dims)
    dims_tuple.of = x
    return dims_tuple


def is_dynamic(x: object) -> bool:
    """Whether `x` is, or holds, something known only when the model runs."""
    if is_value(x) or isinstance(x, (AttributeRef, RunTimeContainer)):
        return True
    if isinstance(x, (list, tuple, set, frozenset)):
        return any(is_dynamic(item) for item in x)
    if isinstance(x, dict):
        return any(is_dynamic(item) for item in x.values())
    if isinstance(x, slice):
        return any(is_dynamic(item) for item in (x.start, x.stop, x.step))
    return False


def same_static(a: object, b: object) -> bool:
    """Whether two objects are the same for the compiled program."""
    if a is b:
        return True
    if is_dynamic(a) or is_dynamic(b):
        if isinstance(a, GraphValue) and isinstance(b, GraphValue):
            return a.value is b.value and a.weak == b.weak
        if isinstance(a, (list, tuple)) and type(a) is type(b) and len(a) == len(b):
            return all(same_static(x, y) for x, y in zip(a, b, strict=True))
        return False
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and a != a and b != b:  # noqa: PLR0124 - NaN
        return True
    try:
        if isinstance(a, np.ndarray):
            other = np.asarray(b)
            return bool(a.dtype == other.dtype and np.array_equal(a, other))
        return bool(a == b)
    except Exception:  # noqa: BLE001 - an object that cannot be compared is not the same
        return False


def map_leaves(x: Any, function: Callable[[Any], Any]) -> Any:
    """The same container with `function` applied to everything in it that is not a container."""
    if isinstance(x, tuple):
        mapped = [map_leaves(item, function) for item in x]
        fields = getattr(x, "_fields", None)
        return type(x)(*mapped) if fields is not None else tuple(mapped)
    if isinstance(x, list):
        return [map_leaves(item, function) for item in x]
    if isinstance(x, dict):
        return {key: map_leaves(item, function) for key, item in x.items()}
    return function(x)


def leaves(x: Any) -> list[Any]:
    """Everything in a container that is not a container, in order."""
    every: list[Any] = []
    map_leaves(x, every.append)
    return every


def same_structure(a: Any, b: Any) -> bool:
    """Whether two containers are built alike."""
    if isinstance(a, (list, tuple)):
        return (
            isinstance(b, (list, tuple))
            and isinstance(a, list) == isinstance(b, list)
            and len(a) == len(b)
            and all(same_structure(x, y) for x, y in zip(a, b, strict=True))
        )
    if isinstance(a, dict):
        return (
            isinstance(b, dict)
            and list(a) == list(b)
            and all(same_structure(a[key], b[key]) for key in a)
        )
    return not isinstance(b, (list, tuple, dict))
