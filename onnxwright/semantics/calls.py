"""What `op.Name(...)` means: bind the arguments by the schema, make them values, emit one op.

A Python number takes the element type of the tensors that share its type variable in the schema;
alone it takes its kind's default type, or the one type the schema allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from onnxwright.diagnostics.catalogue import types as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.opset.op import BoundCall, Op
from onnxwright.opset.registry import InputParam, OpSignature
from onnxwright.semantics.backend import Backend, Promotable, V, is_value
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import (
    DEFAULT_DTYPE,
    PLAIN_NUMBERS,
    as_value,
    dtype_of,
    is_number_like,
    plain_kind,
)
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType


def call(
    b: Backend[V],
    op: Op,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    outputs: int | None = None,
) -> Any:
    """Call an operator on a backend.

    Args:
        b: the backend that runs or builds it.
        op: the operator, of any domain.
        args, kwargs: as the user wrote them: values, numbers, arrays, lists, `None`.
        outputs: the number of outputs, where the user's code says it.

    Returns:
        One value, or a tuple where the op gives several.

    Raises:
        ScriptTypeError: the arguments do not fit the schema (OW5xx) or their types do not (OW4xx).
    """
    bound = op.bind(args, kwargs)
    if op.name == "Split" and op.domain == "":
        outputs, bound = _split(bound, outputs)
    if op.name == "OptionalHasElement" and op.domain == "" and not any(_present(bound)):
        return b.constant(np.array(False))  # an absent value has no element
    inputs = input_values(b, bound)
    count = output_count(bound, outputs)
    # What the user wrote is kept as written; sugar is dropped where nothing reads it.
    results = b.emit_written(op, inputs, bound.attributes, count)
    if bound.name is not None:
        _name_node(op, results, bound.name)
    # A body of control flow may give more values than anybody asked for.
    return results[0] if len(results) == 1 else results


def _name_node(op: Op, results: Sequence[Any], name: str) -> None:
    """`_name=`: the name of the node that was made, if the call made one."""
    producer = results[0].value.producer() if isinstance(results[0], GraphValue) else None
    if producer is not None and producer.op_type == op.name and not producer.name:
        producer.name = name


def _present(bound: BoundCall) -> list[bool]:
    return [x is not None for x in bound.inputs]


def _split(bound: BoundCall, outputs: int | None) -> tuple[int | None, BoundCall]:
    """How many parts a Split makes; unpacked into N names, it makes N."""
    attributes = bound.attributes
    sizes = attributes.get("split")
    if sizes is None and len(bound.inputs) > 1:
        sizes = bound.inputs[1]
    if isinstance(sizes, (list, tuple)) or getattr(sizes, "ndim", 0) == 1:
        return len(sizes), bound  # type: ignore[arg-type]
    count = attributes.get("num_outputs")
    if isinstance(count, int):
        return count, bound
    if sizes is None and outputs is not None and bound.op.version >= 18:
        return outputs, bound._replace(attributes={**attributes, "num_outputs": outputs})
    return outputs, bound


def output_count(bound: BoundCall, outputs: int | None) -> int:
    """How many outputs a call has: as asked, as its attributes say, or all that are required."""
    if bound.outputs is not None:
        return bound.outputs
    if outputs is not None:
        return outputs
    return bound.op.least_outputs


def input_values(b: Backend[V], bound: BoundCall) -> list[V | None]:
    """The bound inputs as values of the backend, numbers typed by the schema's type variables."""
    signature = bound.op.signature
    if signature is None:
        return [None if x is None else as_value(b, x) for x in bound.inputs]
    values = list(bound.inputs)
    taken = _taken(signature)
    dtypes: list[DType | None] = []
    for x in values:
        if x is None:
            dtypes.append(None)
        elif _is_strong(b, x):
            dtypes.append(dtype_of(b, x))
        else:
            # A number takes its type from what is beside it.
            params = taken.params_of(len(values))
            likes = _strong_by_variable(b, bound, params)
            values = [
                x if x is None or _is_strong(b, x) else _input(b, x, param, likes)
                for x, param in zip(values, params, strict=True)
            ]
            dtypes = [None if v is None else dtype_of(b, v) for v in values]
            break
    key = tuple(dtypes)
    if key not in taken.dtypes:
        _check_types(b, signature, taken.params_of(len(values)), values)
        if len(key) <= _MOST_INPUTS:
            taken.dtypes.add(key)
    return values


def _is_strong(b: Backend[V], x: object) -> bool:
    """Whether an argument is a value with a type of its own."""
    return is_value(x) and b.weak_kind(x) is None


# Of calls with more inputs nothing is kept: there are too many kinds of them.
_MOST_INPUTS = 8


class _Taken:
    """What the calls of an operator have taken.

    Attributes:
        signature: its schema, which is kept, so that no other one gets its id.
        dtypes: element types of inputs that it takes together.
    """

    def __init__(self, signature: OpSignature) -> None:
        self.signature = signature
        self.dtypes: set[tuple[DType | None, ...]] = set()
        self._params: dict[int, list[InputParam]] = {}

    def params_of(self, count: int) -> list[InputParam]:
        """The formal inputs of so many."""
        if count > _MOST_INPUTS:
            return [parameter_at(self.signature, n) for n in range(count)]
        params = self._params.get(count)
        if params is None:
            params = [parameter_at(self.signature, n) for n in range(count)]
            self._params[count] = params
        return params


_ALL_TAKEN: dict[int, _Taken] = {}


def _taken(signature: OpSignature) -> _Taken:
    taken = _ALL_TAKEN.get(id(signature))
    if taken is None:
        taken = _ALL_TAKEN[id(signature)] = _Taken(signature)
    return taken


def parameter_at(signature: OpSignature, n: int) -> InputParam:
    """The formal input of position `n`; the last one again for a variadic tail."""
    return signature.inputs[min(n, len(signature.inputs) - 1)]


def _strong_by_variable(
    b: Backend[V], bound: BoundCall, params: Sequence[InputParam]
) -> dict[str, V]:
    """For each type variable, the first input with a type of its own."""
    dtypes: dict[str, V] = {}
    for x, param in zip(bound.inputs, params, strict=True):
        if x is None or type(x) in PLAIN_NUMBERS or not param.homogeneous:
            continue
        dtype = dtypes.get(param.type_str)
        if dtype is not None and dtype_of(b, dtype) is not None:
            continue
        if is_value(x):
            if b.weak_kind(x) is None:
                dtypes[param.type_str] = x
        elif (
            getattr(b, "adapts_arrays", False) and _has_typed(b, bound, params, param)
        ) or _is_sequence(x, param):
            continue
        elif not is_number_like(x) and not isinstance(x, Promotable):
            value = as_value(b, x)
            if b.weak_kind(value) is None:
                dtypes[param.type_str] = value
    return dtypes


def _has_typed(
    b: Backend[V], bound: BoundCall, params: Sequence[InputParam], param: InputParam
) -> bool:
    """Whether a value of known type shares the type variable of a parameter."""
    return any(
        is_value(x) and b.weak_kind(x) is None and dtype_of(b, x) is not None
        for x, other in zip(bound.inputs, params, strict=True)
        if other.homogeneous and other.type_str == param.type_str
    )


def _input(b: Backend[V], x: object, param: InputParam, likes: Mapping[str, V]) -> V:
    if _is_sequence(x, param):
        return _sequence(b, x)
    like = likes.get(param.type_str) if param.homogeneous else None
    if like is not None and isinstance(b.type_of(like), (TensorType, type(None))):
        return as_value(b, x, like=like)
    return as_value(b, x, dtype=_default_dtype(b, x, param))


def _is_sequence(x: object, param: InputParam) -> TypeGuard[list[object] | tuple[object, ...]]:
    """Whether a Python list is given where the schema takes sequences only."""
    return isinstance(x, (list, tuple)) and all(t.startswith("seq(") for t in param.types)


def _sequence(b: Backend[V], items: Sequence[object]) -> V:
    """A list as a sequence of tensors; numbers take the type of the first tensor in it."""
    if not items:
        return b.emit(b.opset["SequenceEmpty"], (), {}, 1)[0]
    like = next((x for x in items if is_value(x) and b.weak_kind(x) is None), None)
    values = [
        x if is_value(x) and b.weak_kind(x) is None else as_value(b, x, like=like) for x in items
    ]
    return b.emit(b.opset["SequenceConstruct"], values, {}, 1)[0]


def _default_dtype(b: Backend[V], x: object, param: InputParam) -> DType | None:
    """The type of a number with no tensor beside it: its kind's default, or the nearest allowed."""
    kind: str | None
    if is_value(x):
        kind = b.weak_kind(x)
    else:
        kind = x.weak_kind if isinstance(x, Promotable) else None
        if kind is None and isinstance(x, (int, float, bool, complex, str, list, tuple)):
            kind = plain_kind(x) if is_number_like(x) else None
    allowed = {DType.from_onnx_name(t) for t in param.types if t.startswith("tensor(")}
    if len(allowed) == 1:
        return next(iter(allowed))
    if kind in (None, "", "mixed"):
        return None
    default = DEFAULT_DTYPE[kind]
    if not allowed or default in allowed:
        return default
    for candidate in (DType.INT64, DType.FLOAT, DType.DOUBLE, DType.INT32):
        if candidate in allowed and not (kind == "float" and candidate.is_integer):
            return candidate
    return default


def _check_types(
    b: Backend[V],
    signature: OpSignature,
    params: Sequence[InputParam],
    values: Sequence[V | None],
) -> None:
    """Every known element type is allowed by the schema, and one type variable has one type."""
    bound: dict[str, tuple[DType, str]] = {}
    for value, param in zip(values, params, strict=True):
        dtype = None if value is None else dtype_of(b, value)
        if dtype is None:
            continue
        if dtype.onnx_name not in param.types:
            fail(
                messages.TypeNotAllowed(
                    operation=signature.name,
                    parameter=f"`{param.name}`",
                    got=dtype.name,
                    allowed=", ".join(sorted(_short(t) for t in param.types)),
                    signature=str(signature),
                    span=b.here(),
                )
            )
        if not param.homogeneous:
            continue
        bound_type = bound.setdefault(param.type_str, (dtype, param.name))
        if bound_type[0] is not dtype:
            fail(
                messages.MixedTypes(
                    operation=f"op.{signature.name}",
                    left=bound_type[0].name,
                    right=dtype.name,
                    span=b.here(),
                )
            )


def _short(onnx_name: str) -> str:
    if not onnx_name.startswith("tensor("):
        return onnx_name
    dtype = DType.from_onnx_name(onnx_name)
    return dtype.name
