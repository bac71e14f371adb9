"""Whether a call written for one schema fits another one, and casts where its types do not."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from onnxwright.operators import OperatorFacts, facts
from onnxwright.opset.registry import InputParam, OpSignature
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.ops import Ops
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.versions.call import Call, Refused

# Wider types that hold every value of a type, in the order they are tried.
_WIDER: dict[DType, tuple[DType, ...]] = {
    DType.BOOL: (DType.UINT8, DType.INT32, DType.INT64, DType.FLOAT),
    DType.INT8: (DType.INT32, DType.INT64, DType.FLOAT),
    DType.UINT8: (DType.INT32, DType.INT64, DType.FLOAT),
    DType.INT16: (DType.INT32, DType.INT64, DType.FLOAT),
    DType.UINT16: (DType.INT32, DType.INT64, DType.FLOAT),
    DType.INT32: (DType.INT64, DType.DOUBLE),
    DType.UINT32: (DType.INT64, DType.DOUBLE),
    DType.FLOAT16: (DType.FLOAT, DType.DOUBLE),
    DType.BFLOAT16: (DType.FLOAT, DType.DOUBLE),
    DType.FLOAT: (DType.DOUBLE,),
}
# Types of the same bits, for operators that copy elements.
_SAME_BITS = {DType.UINT64: DType.INT64, DType.UINT32: DType.INT32, DType.UINT16: DType.INT16}


def check_parts(call: Call, there: OpSignature) -> dict[str, Any]:
    """The attributes of a call that the other schema takes too.

    Attributes that only the newer schema has are left out where they have their default value.

    Raises:
        Refused: the call has inputs, outputs or attribute values that the other schema has not.
    """
    kept: dict[str, Any] = {}
    for name, value in call.attributes.items():
        theirs, mine = there.attributes.get(name), call.signature.attributes.get(name)
        if theirs is not None:
            kept[name] = value
        elif mine is None or repr(call.attr(name)) != repr(mine.default):
            if name in _FOR_NEW_TYPES and call.name in _OF_NEW_TYPES:
                continue
            if mine is not None and name in _UNSET and call.attr(name) == _UNSET[name]:
                continue
            shown = repr(call.attr(name))
            raise Refused(f"its attribute `{name}={shown}` came with opset {_since(call)}")
    for name, mine in call.signature.attributes.items():
        theirs = there.attributes.get(name)
        if theirs is not None and name not in kept and mine.default is not None:
            if repr(theirs.default) != repr(mine.default):
                kept[name] = mine.default
        elif theirs is not None and theirs.required and name not in kept:
            raise Refused(f"the older version needs an attribute `{name}`")
    last = max((n for n, v in enumerate(call.inputs) if v is not None), default=-1)
    if last >= there.max_input:
        own = call.signature.inputs
        extra = own[min(last, len(own) - 1)].name if own else str(last + 1)
        raise Refused(f"its input `{extra}` came with opset {_since(call)}")
    if there.variadic_input is not None and max(last + 1, there.variadic_input) < there.min_input:
        raise Refused(f"the older version needs at least {there.min_input} inputs")
    for n, param in enumerate(there.inputs):
        if param.option == "single" and not call.has(n):
            raise Refused(f"the older version needs its input `{param.name}`")
    used = max((n for n, u in enumerate(call.used) if u), default=-1)
    if used >= there.max_output:
        extra = call.signature.outputs[min(used, len(call.signature.outputs) - 1)].name
        raise Refused(f"its output `{extra}` came with opset {_since(call)}")
    return kept


# Values that mean "as before" although the schema has another default, or none.
_UNSET = {"block_size": 0, "output_dtype": 0, "precision": 0, "round_mode": "up"}
# Attributes that matter for types only that the older version does not have.
_FOR_NEW_TYPES = frozenset(("saturate", "round_mode", "stash_type"))
_OF_NEW_TYPES = frozenset(("Cast", "CastLike", "Range", "QuantizeLinear"))


def _since(call: Call) -> int:
    return call.signature.since_version


def fitting_types(call: Call, there: OpSignature) -> dict[str, tuple[DType, DType]]:
    """For each type variable whose type the other schema does not allow, a type it does.

    Returns:
        Variable -> (type of the call, type to compute in).

    Raises:
        Refused: no type gives the same results.
    """
    types: dict[str, tuple[DType, DType]] = {}
    for n, value in enumerate(call.inputs):
        if value is None or not there.inputs:
            continue
        if n >= len(there.inputs) and not there.inputs[-1].is_variadic:
            continue
        param = _param(there.inputs, n)
        if not isinstance(value.kind, TensorType):
            if value.kind is not None and str(value.kind) and not _allows(value.kind, param):
                raise Refused(f"the older version takes no {value.kind} as `{param.name}`")
            continue
        dtype = value.kind.dtype
        if dtype is None or dtype.onnx_name in param.types:
            continue
        wider = _wider(call.name, dtype, param)
        if wider is None:
            raise Refused(f"the older version takes no {dtype.name} as `{param.name}`")
        types[param.type_str] = (dtype, wider)
    return types


def _allows(kind: Any, param: InputParam) -> bool:
    """Whether a parameter takes a sequence, optional value or map."""
    prefix = {"SequenceType": "seq(", "OptionalType": "optional(", "MapType": "map("}
    start = prefix.get(type(kind).__name__)
    if start is None:
        return True
    inner = kind
    while hasattr(inner, "elem"):
        inner = inner.elem
    dtype = getattr(inner, "dtype", None)
    return any(t.startswith(start) and (dtype is None or dtype.onnx_name in t) for t in param.types)


def _param(params: Sequence[InputParam], n: int) -> InputParam:
    return params[min(n, len(params) - 1)]


@functools.cache
def _wider(name: str, dtype: DType, param: InputParam) -> DType | None:
    if name in ("Cast", "Constant", "ConstantOfShape", "CastLike"):
        return None
    allowed = param.types
    record = facts(name)
    if record.copies and dtype in _SAME_BITS and _SAME_BITS[dtype].onnx_name in allowed:
        return _SAME_BITS[dtype]
    integer = not dtype.is_float
    if integer and not (_is_exact(record) or record.modular):
        return None
    for wider in _WIDER.get(dtype, ()):
        if wider.onnx_name in allowed and (not wider.is_float or _exact_in_float(record, dtype)):
            return wider
    return None


def _is_exact(record: OperatorFacts) -> bool:
    return record.exact_on_integers or record.copies


def _exact_in_float(record: OperatorFacts, dtype: DType) -> bool:
    """Whether an operator of integers may be computed in FLOAT or DOUBLE."""
    return dtype.is_float or (_is_exact(record) and record.name not in ("Div", "Mod"))


def cast_inputs(
    op: Ops, call: Call, there: OpSignature, types: dict[str, tuple[DType, DType]]
) -> list[GraphValue | None]:
    """The inputs of a call in types that the other schema takes.

    Args:
        op: the operators of the other version.
        types: what `fitting_types` gave.
    """
    inputs: list[GraphValue | None] = []
    for n, value in enumerate(call.inputs):
        change = types.get(_param(there.inputs, n).type_str) if there.inputs else None
        if value is None or change is None or value.dtype is not change[0]:
            inputs.append(value)
        else:
            inputs.append(_cast(op, value, change[1]))
    return inputs


def cast_outputs(
    op: Ops,
    outputs: Sequence[GraphValue | None],
    there: OpSignature,
    types: dict[str, tuple[DType, DType]],
) -> list[GraphValue | None]:
    """Outputs of a call between casts, in the types that the call has.

    Args:
        op: the operators of the other version.
        types: what `fitting_types` gave.
    """
    results: list[GraphValue | None] = []
    for n, value in enumerate(outputs):
        change = types.get(_param(there.outputs, n).type_str)
        cast = change is not None and value is not None
        results.append(_cast(op, value, change[0]) if cast else value)  # type: ignore[index, arg-type]
    return results


def check_outputs(kinds: Sequence[OnnxType | None], there: OpSignature) -> None:
    """Refuse sequences and optional values that the other schema cannot give.

    Raises:
        Refused: there is one.
    """
    for n, kind in enumerate(kinds):
        if kind is None or isinstance(kind, TensorType) or not there.outputs:
            continue
        if not _allows(kind, _param(there.outputs, n)):
            raise Refused(f"the older version gives no {kind}")


def _cast(op: Ops, value: GraphValue, dtype: DType) -> GraphValue:
    cast = op.opset["Cast"].signature
    assert cast is not None
    for name, types in ((value.dtype, cast.inputs[0].types), (dtype, cast.outputs[0].types)):
        if name is not None and name.onnx_name not in types:
            raise Refused(f"opset {op.version} has no {name.name}, not even for Cast")
    return op.backend.emit(op.opset["Cast"], [value], {"to": int(dtype)}, 1)[0]  # type: ignore[no-any-return]
