"""Annotations read: what Python's type syntax says about a tensor or an attribute.

The names that users write are defined in `types.tensors`.  `parse_annotation` turns an evaluated
annotation into a `ValueSpec` (tensors, sequences, maps) or an `AttributeSpec`.
"""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, Union

import numpy as np

from onnxwright.diagnostics.catalogue.annotations import (
    BadAnnotation,
    MixedAnnotation,
    ShapeGivenTwice,
)
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.types import polynomials
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import (
    AttrKind,
    MapType,
    OnnxType,
    OptionalType,
    SequenceType,
    TensorType,
)
from onnxwright.types.roles import EagerTensorBase
from onnxwright.types.shapes import Shape as ShapeTuple
from onnxwright.types.shapes import show_shape
from onnxwright.types.tensors import ShapeMark, TensorMeta, read_shape

Resolver = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class ValueSpec:
    """What an annotation says about a tensor, sequence or map.

    Fields:
        types: the allowed types; empty is anything.
        typevar: the name of the TypeVar, where several parameters share one type.
        optional: whether None may be given.
    """

    types: tuple[OnnxType, ...] = ()
    typevar: str | None = None
    optional: bool = False

    @property
    def exact(self) -> OnnxType | None:
        """The one type that it says, `Optional[...]` being ONNX's optional type; else None."""
        if len(self.types) != 1:
            return None
        return OptionalType(self.types[0]) if self.optional else self.types[0]

    def __str__(self) -> str:
        text = " | ".join(str(t) for t in self.types) or "Tensor"
        if self.typevar is not None:
            text = f"{self.typevar}: {text}" if self.types else self.typevar
        return f"Optional[{text}]" if self.optional else text


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """What an annotation says about an attribute parameter.

    Fields:
        kind: the kind of attribute.
        optional: whether None may be given.
    """

    kind: AttrKind
    optional: bool = False

    def __str__(self) -> str:
        return f"Optional[{self.kind.python}]" if self.optional else self.kind.python


Spec: TypeAlias = ValueSpec | AttributeSpec

_SCALARS: dict[object, AttrKind] = {
    int: AttrKind.INT,
    float: AttrKind.FLOAT,
    str: AttrKind.STRING,
    bytes: AttrKind.STRING,
    bool: AttrKind.BOOL,
    DType: AttrKind.INT,
    np.ndarray: AttrKind.TENSOR,
}
# Classes of other packages are known by name, so that none of them is imported.
_FOREIGN: dict[tuple[str, str], AttrKind] = {
    ("onnx", "TensorProto"): AttrKind.TENSOR,
    ("onnx", "SparseTensorProto"): AttrKind.SPARSE_TENSOR,
    ("onnx", "GraphProto"): AttrKind.GRAPH,
    ("onnx", "TypeProto"): AttrKind.TYPE_PROTO,
    ("onnx_ir", "Graph"): AttrKind.GRAPH,
    ("onnx_ir", "Tensor"): AttrKind.TENSOR,
    ("onnx_ir", "TensorProtocol"): AttrKind.TENSOR,
}
_SEQUENCES = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)
_MAPS = (dict, collections.abc.Mapping)
_KEYS = {int: DType.INT64, str: DType.STRING}


def show_annotation(annotation: object) -> str:
    """An annotation as one would write it, for messages.

    Args:
        annotation: any object used as an annotation.

    Returns:
        The text.

    Example:
        >>> show_annotation(int), show_annotation(typing.Optional[int]), show_annotation("FLOAT")
        ('int', 'Optional[int]', 'FLOAT')
    """
    if isinstance(annotation, str):
        return annotation
    if annotation is None or annotation is type(None):
        return "None"
    if isinstance(annotation, type) and typing.get_origin(annotation) is None:
        return annotation.__name__
    text = str(annotation)
    for prefix in ("typing.", "collections.abc.", "onnxwright.types.tensors."):
        text = text.replace(prefix, "")
    return text


def _are_dimensions(metadata: tuple[Any, ...]) -> bool:
    """Whether the metadata of `Annotated` can be a shape: whole numbers, None, names, expressions.

    A text that is not an expression of names is documentation, as "the scores of each class".
    """
    for item in metadata:
        if isinstance(item, str):
            if any(len(name.split()) != 1 for name in polynomials.names(polynomials.read(item))):
                return False
        elif item is not None and (isinstance(item, bool) or not isinstance(item, int)):
            return False
    return True


class _Reader:
    """Reads one annotation; keeps the words a message needs."""

    def __init__(self, whole: object, where: str, resolve: Resolver | None) -> None:
        self.whole = whole
        self.where = where
        self.resolve = resolve

    def bad(self, part: object) -> typing.NoReturn:
        fail(BadAnnotation(annotation=show_annotation(part), where=self.where))

    def mixed(self, parts: list[Spec]) -> typing.NoReturn:
        names = " with ".join(dict.fromkeys(f"`{p}`" for p in parts))
        fail(MixedAnnotation(annotation=show_annotation(self.whole), parts=names, where=self.where))

    def read(self, ann: object) -> Spec:
        """The spec of one annotation."""
        if isinstance(ann, typing.ForwardRef):
            ann = ann.__forward_arg__
        if isinstance(ann, str):
            if self.resolve is None:
                self.bad(ann)
            return self.read(self.resolve(ann))
        if ann is Any or ann is object or ann is typing.Hashable:
            return ValueSpec()
        if isinstance(ann, TensorMeta):
            kind = ann.onnx_type
            return ValueSpec((kind,) if kind != TensorType() else ())
        if isinstance(ann, (TensorType, SequenceType, MapType)):
            return ValueSpec((ann,))
        if isinstance(ann, DType):
            return ValueSpec((TensorType(ann),))
        origin = typing.get_origin(ann)
        if origin is None:
            return self.read_plain(ann)
        return self.read_generic(ann, origin, typing.get_args(ann))

    def read_plain(self, ann: object) -> Spec:
        """An annotation without brackets."""
        if isinstance(ann, typing.TypeVar):
            return self.read_typevar(ann)
        supertype = getattr(ann, "__supertype__", None)
        if supertype is not None:  # NewType
            return self.read(supertype)
        alias = getattr(ann, "__value__", None)
        if alias is not None and type(ann).__name__ == "TypeAliasType":  # type X = ...
            return self.read(alias)
        if isinstance(ann, type):
            kind = _SCALARS.get(ann)
            if kind is not None:
                return AttributeSpec(kind)
            for (module, name), kind in _FOREIGN.items():
                if ann.__name__ == name and ann.__module__.split(".")[0] == module:
                    return AttributeSpec(kind)
            if issubclass(ann, EagerTensorBase):
                return ValueSpec()
            if issubclass(ann, str):
                return AttributeSpec(AttrKind.STRING)
            if issubclass(ann, int):
                return AttributeSpec(AttrKind.INT)
        if ann is Callable or ann is typing.Callable:
            return AttributeSpec(AttrKind.GRAPH)
        self.bad(ann)

    def read_typevar(self, var: typing.TypeVar) -> Spec:
        """A TypeVar: its constraints or its bound, under its name."""
        choices = var.__constraints__ or ((var.__bound__,) if var.__bound__ is not None else ())
        if not choices:
            return ValueSpec((), var.__name__)
        spec = self.union([self.read(choice) for choice in choices], optional=False)
        return replace(spec, typevar=var.__name__) if isinstance(spec, ValueSpec) else spec

    def read_generic(self, ann: object, origin: object, args: tuple[Any, ...]) -> Spec:
        """An annotation with brackets, or a union."""
        if origin is typing.Annotated:
            return self.read_annotated(ann, args)
        if origin is Union or origin is types.UnionType:
            members = [arg for arg in args if arg is not type(None)]
            if not members:
                self.bad(ann)
            return self.union(
                [self.read(arg) for arg in members], optional=len(members) < len(args)
            )
        if origin is typing.Literal:
            return self.read_literal(ann, args)
        if origin is typing.Final or origin is typing.ClassVar:
            return self.read(args[0])
        if origin is collections.abc.Callable:
            return AttributeSpec(AttrKind.GRAPH)
        if origin is np.ndarray:
            return AttributeSpec(AttrKind.TENSOR)
        if type(origin).__name__ == "TypeAliasType":  # type X[T] = ..., as numpy 2.5's NDArray
            value: Any = getattr(origin, "__value__", None)
            return self.read(value[args] if getattr(value, "__parameters__", ()) else value)
        if origin in _SEQUENCES:
            return self.read_sequence(ann, origin, args)
        if origin in _MAPS and len(args) == 2 and args[0] in _KEYS:
            return self.read_map(ann, args)
        self.bad(ann)

    def read_annotated(self, ann: object, args: tuple[Any, ...]) -> Spec:
        """`Annotated[FLOAT, "N", 3]` and `Annotated[FLOAT, Shape["N", 3], "what it is"]`."""
        spec = self.read(args[0])
        marks = [mark.dims for mark in args[1:] if isinstance(mark, ShapeMark)]
        if not marks and isinstance(spec, ValueSpec) and _are_dimensions(args[1:]):
            marks = [read_shape("Annotated", args[1:])]
        for dims in marks:
            if not isinstance(spec, ValueSpec):
                self.bad(ann)
            spec = replace(spec, types=self.shaped(spec, dims))
        return spec

    def shaped(self, spec: ValueSpec, shape: ShapeTuple | None) -> tuple[OnnxType, ...]:
        """The types of `spec`, all with `shape`."""
        if shape is None:
            return spec.types
        result: list[OnnxType] = []
        for kind in spec.types or (TensorType(),):
            if not isinstance(kind, TensorType):
                self.bad(self.whole)
            if kind.shape is not None:
                fail(ShapeGivenTwice(annotation=str(kind), shape=show_shape(shape)))
            result.append(TensorType(kind.dtype, shape))
        return tuple(result)

    def union(self, parts: list[Spec], *, optional: bool) -> Spec:
        """Several specs as one."""
        first = parts[0]
        optional = optional or any(p.optional for p in parts)
        if isinstance(first, AttributeSpec):
            if any(not isinstance(p, AttributeSpec) or p.kind != first.kind for p in parts):
                self.mixed(parts)
            return AttributeSpec(first.kind, optional)
        values = [p for p in parts if isinstance(p, ValueSpec)]
        if len(values) != len(parts):
            self.mixed(parts)
        kinds: tuple[OnnxType, ...] = ()
        if all(p.types for p in values):
            kinds = tuple(dict.fromkeys(kind for p in values for kind in p.types))
        return ValueSpec(kinds, first.typevar if len(values) == 1 else None, optional)

    def read_literal(self, ann: object, args: tuple[Any, ...]) -> Spec:
        """`Literal["none", "tanh"]`: an attribute of the type of its values."""
        optional = any(arg is None for arg in args)
        kinds = {_SCALARS.get(type(arg)) for arg in args if arg is not None}
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind is None:
            self.bad(ann)
        return AttributeSpec(kind, optional)

    def read_sequence(self, ann: object, origin: object, args: tuple[Any, ...]) -> Spec:
        """A list of attributes, or an ONNX sequence of values."""
        if origin is tuple:
            args = tuple(arg for arg in args if arg is not ...)
            if args == ((),):  # Tuple[()] of Python 3.10
                args = ()
        if not args or (origin is not tuple and len(args) != 1):
            self.bad(ann)
        elem = self.union([self.read(arg) for arg in args], optional=False)
        if elem.optional:
            self.bad(ann)
        if isinstance(elem, AttributeSpec):
            if elem.kind.is_list:
                self.bad(ann)
            return AttributeSpec(elem.kind.list_of)
        if not elem.types:
            return ValueSpec((SequenceType(TensorType()),))
        return ValueSpec(tuple(SequenceType(kind) for kind in elem.types))

    def read_map(self, ann: object, args: tuple[Any, ...]) -> Spec:
        """`dict[str, FLOAT]`: an ONNX map."""
        value = self.read(args[1])
        key = _KEYS[args[0]]
        if isinstance(value, AttributeSpec):
            scalar = {AttrKind.FLOAT: DType.FLOAT, AttrKind.INT: DType.INT64}.get(value.kind)
            if scalar is None:
                self.bad(ann)
            return ValueSpec((MapType(key, TensorType(scalar)),))
        return ValueSpec(tuple(MapType(key, kind) for kind in value.types or (TensorType(),)))


def parse_annotation(
    annotation: object, *, where: str = "", resolve: Resolver | None = None
) -> Spec | None:
    """What an evaluated annotation says.

    Args:
        annotation: the annotation; `inspect.Parameter.empty` for none.
        where: who has it, for messages, ending in a space: "parameter `x` ".
        resolve: evaluates the text of forward references inside it.

    Returns:
        A `ValueSpec` or an `AttributeSpec`; None where there is no annotation.

    Raises:
        ScriptTypeError: it is not an ONNX type, or mixes attributes with values.

    Example:
        >>> from onnxwright.types.tensors import Tensor
        >>> str(parse_annotation(typing.Optional[int])), str(parse_annotation(Tensor["N", 3]))
        ('Optional[int]', 'Tensor[N, 3]')
    """
    if annotation is inspect.Parameter.empty:
        return None
    return _Reader(annotation, where, resolve).read(annotation)
