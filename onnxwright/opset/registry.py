"""Operator schemas as data: what the installed onnx says of (domain, name, version), cached."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxwright.opset.history import (
    all_names,
    domains,
    first_version,
    is_known_domain,
    load_schema,
    newest,
    normalize_domain,
    op_names,
    versions_of,
)
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import AttrKind, parse_onnx_name

if TYPE_CHECKING:
    from onnx.defs import OpSchema

SINGLE = "single"
OPTIONAL = "optional"
VARIADIC = "variadic"
# What one call may have at most where the schema sets no limit.
UNLIMITED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class InputParam:
    """An input (or output) of an operator.

    Fields:
        name: its name in the schema.
        option: "single", "optional" or "variadic".
        type_str: the type variable ("T") or the type ("tensor(int64)").
        types: the allowed types as onnx writes them.
        homogeneous: for variadic ones, whether all values have one type.
        min_arity: for variadic ones, how many values there must be.
    """

    name: str
    option: str
    type_str: str
    types: frozenset[str]
    homogeneous: bool = True
    min_arity: int = 1

    def __str__(self) -> str:
        star = "*" if self.option == VARIADIC else ""
        mark = "?" if self.option == OPTIONAL else ""
        return f"{star}{self.name}{mark}: {show_type(self.type_str)}"

    @property
    def is_variadic(self) -> bool:
        """Whether it takes any number of values."""
        return self.option == VARIADIC

    @property
    def is_optional(self) -> bool:
        """Whether it may be absent."""
        return self.option == OPTIONAL


OutputParam = InputParam


@dataclass(frozen=True, slots=True)
class AttrParam:
    """An attribute of an operator.

    Fields:
        name: its name.
        kind: its kind.
        required: whether a call must give it.
        default: the default as a Python value, None where there is none.
        doc: the description in the schema.
    """

    name: str
    kind: AttrKind
    required: bool
    default: object = None
    doc: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        if self.required:
            return f"{self.name}: {self.kind.python}"
        return f"{self.name}: {self.kind.python} = {self.default!r}"


@dataclass(frozen=True, slots=True)
class OpSignature:
    """The schema of one operator in one version.  `str()` is its typed signature.

    Fields:
        domain: "" for the standard operators.
        name: the operator.
        since_version: the opset version this schema came with.
        deprecated: whether newer models must not use it.
        inputs: the inputs in order.
        outputs: the outputs in order.
        attributes: the attributes by name, in alphabetical order.
        min_input: the least number of inputs.
        max_input: the greatest number of inputs (`UNLIMITED` for variadic ones).
        min_output: the least number of outputs.
        max_output: the greatest number of outputs.
        has_function: whether onnx defines it by other operators.
    """

    domain: str
    name: str
    since_version: int
    deprecated: bool
    inputs: tuple[InputParam, ...]
    outputs: tuple[OutputParam, ...]
    attributes: dict[str, AttrParam]
    min_input: int
    max_input: int
    min_output: int
    max_output: int
    has_function: bool

    def __hash__(self) -> int:
        return hash((self.domain, self.name, self.since_version))

    def __reduce__(self) -> tuple[Any, ...]:
        return signature, (self.domain, self.name, self.since_version)

    @property
    def schema(self) -> OpSchema:
        """The schema itself."""
        return load_schema(self.domain, self.name, self.since_version)

    @property
    def doc(self) -> str:
        """The description in the schema."""
        return (self.schema.doc or "").strip()

    @property
    def variadic_input(self) -> int | None:
        """The position of the variadic input, if there is one (always the last)."""
        last = len(self.inputs) - 1
        return last if self.inputs and self.inputs[last].is_variadic else None

    @property
    def variadic_output(self) -> int | None:
        """The position of the variadic output, if there is one (always the last)."""
        last = len(self.outputs) - 1
        return last if self.outputs and self.outputs[last].is_variadic else None

    @property
    def constraints(self) -> dict[str, frozenset[str]]:
        """The type variables of inputs and outputs and what they may be bound to."""
        return {p.type_str: p.types for p in (*self.inputs, *self.outputs) if "(" not in p.type_str}

    def __str__(self) -> str:
        parts = [str(p) for p in self.inputs]
        if self.attributes:
            ordered = sorted(self.attributes.values(), key=lambda a: not a.required)
            parts += ([] if self.variadic_input is not None else ["*"]) + [str(a) for a in ordered]
        outputs = ", ".join(str(p) for p in self.outputs)
        text = f"{self.name}({', '.join(parts)}) -> {outputs or 'nothing'}"
        where = [f"{var}: {show_types(types)}" for var, types in self.constraints.items()]
        return f"{text}  [{'; '.join(where)}]" if where else text


def show_type(type_str: str) -> str:
    """A schema's type in the words of annotations: `tensor(float)` is FLOAT.

    Args:
        type_str: a type, or a type variable, which stays as it is.

    Returns:
        The text.

    Source:
        The type strings of `onnx.defs`.

    Example:
        >>> show_type("seq(tensor(float))"), show_type("T")
        ('Sequence[FLOAT]', 'T')
    """
    return str(parse_onnx_name(type_str)) if "(" in type_str else type_str


# The order in which messages list element types.
_ORDER = {name: i for i, name in enumerate(["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16"])}


def show_types(types: frozenset[str], most: int = 8) -> str:
    """Several types in the words of annotations, shortened when there are many.

    Args:
        types: the types as onnx writes them.
        most: how many to name before saying "and N more".

    Returns:
        The text.

    Source:
        The type constraints of `onnx.defs`.

    Example:
        >>> show_types(frozenset({"tensor(int32)", "tensor(float)"}))
        'FLOAT | INT32'
    """
    whole = {
        word
        for pattern, word in _WHOLE
        if all(pattern.format(dtype.onnx_name) in types for dtype in _COMMON)
    }
    if whole:
        return "any " + " or ".join(word for _, word in _WHOLE if word in whole)
    names = sorted((show_type(t) for t in types), key=lambda n: (_ORDER.get(n, 99), len(n), n))
    if len(names) > most:
        return " | ".join(names[: most - 1]) + f" | {len(names) - most + 1} more"
    return " | ".join(names)


_COMMON = tuple(DType(number) for number in range(1, 16))
_WHOLE = (("{}", "tensor"), ("seq({})", "sequence"), ("optional({})", "optional"))


@functools.cache
def signature(domain: str, name: str, opset_version: int) -> OpSignature | None:
    """The schema of an operator as data.

    Args:
        opset_version: the version of the opset it is called through.

    Returns:
        The signature, also of a deprecated operator; None where there is none.

    Source:
        `onnx.defs.get_schema`.

    Example:
        >>> print(signature("", "MatMul", 13))  # doctest: +ELLIPSIS
        MatMul(A: T, B: T) -> Y: T  [T: FLOAT | DOUBLE | FLOAT16 | BFLOAT16 | INT32 | ...]
        >>> signature("", "MatMull", 13) is None
        True
    """
    if domain != normalize_domain(domain):
        return signature(normalize_domain(domain), name, opset_version)
    since = [v for v, _ in versions_of(domain, name) if v <= opset_version]
    if not since:
        return None
    if since[-1] != opset_version:
        return signature(domain, name, since[-1])
    return _from_schema(load_schema(domain, name, opset_version))


def _from_schema(schema: Any) -> OpSignature:
    attributes = {
        name: AttrParam(
            name,
            AttrKind(attr.type.name),
            attr.required,
            _default(attr),
            attr.description or "",
        )
        for name, attr in sorted(schema.attributes.items())
    }
    return OpSignature(
        domain=schema.domain,
        name=schema.name,
        since_version=schema.since_version,
        deprecated=schema.deprecated,
        inputs=tuple(_params(schema.inputs)),
        outputs=tuple(_params(schema.outputs)),
        attributes=attributes,
        min_input=schema.min_input,
        max_input=schema.max_input,
        min_output=schema.min_output,
        max_output=schema.max_output,
        has_function=schema.has_function or schema.has_context_dependent_function,
    )


def _params(params: Any) -> Iterator[InputParam]:
    for p in params:
        yield InputParam(
            p.name,
            p.option.name.lower(),
            p.type_str,
            frozenset(p.types),
            p.is_homogeneous,
            p.min_arity,
        )


def _default(attr: Any) -> object:
    """The default of an attribute as a Python value."""
    proto = attr.default_value
    kind = attr.type.name
    if not proto.type:
        return None
    if kind == "FLOAT":
        return _shortest(proto.f)
    if kind == "INT":
        return int(proto.i)
    if kind == "STRING":
        return proto.s.decode()
    if kind == "FLOATS":
        return tuple(_shortest(f) for f in proto.floats)
    if kind == "INTS":
        return tuple(int(i) for i in proto.ints)
    if kind == "STRINGS":
        return tuple(s.decode() for s in proto.strings)
    return proto.t if kind == "TENSOR" else None


def _shortest(number: float) -> float:
    """The shortest decimal that is the same 32-bit float: 0.1 rather than 0.10000000149."""
    return float(str(np.float32(number)))


__all__ = [
    "OPTIONAL",
    "SINGLE",
    "UNLIMITED",
    "VARIADIC",
    "AttrParam",
    "InputParam",
    "OpSignature",
    "OutputParam",
    "all_names",
    "domains",
    "first_version",
    "is_known_domain",
    "newest",
    "normalize_domain",
    "op_names",
    "show_type",
    "show_types",
    "signature",
    "versions_of",
]
