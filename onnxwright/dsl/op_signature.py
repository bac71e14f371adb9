"""The signature of a script as onnx_ir has it: `OpSignature`, as of operators."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
from onnx_ir.schemas import AttributeParameter, OpSignature, Parameter, TypeConstraintParam

from onnxwright.types.annotations import AttributeSpec, ValueSpec
from onnxwright.types.kinds import TensorType
from onnxwright.types.signature import EMPTY, FunctionSignature, Param


def op_signature(signature: FunctionSignature, domain: str, name: str) -> OpSignature:
    """The signature of a function in the terms of onnx_ir.

    Args:
        domain, name: what the function is called in models.

    Returns:
        Parameters in their order, values and attributes alike, and the results.

    Example:
        >>> from onnxwright import FLOAT
        >>> from onnxwright.types.signature import signature_of
        >>> def scale(x: FLOAT["N"], factor: float = 2.0): ...
        >>> signature = op_signature(signature_of(scale), "this", "scale")
        >>> [p.name for p in signature.inputs], signature.get("factor").default.value
        (['x'], 2.0)
    """
    params = [_attribute(p) if p.is_attribute else _value(p) for p in signature.params]
    outputs = [
        Parameter(f"output_{number}", _constraint(str(number), spec), True, False)
        for number, spec in enumerate(signature.returns or (None,))
    ]
    return OpSignature(domain, name, "", params, outputs)


def _value(param: Param) -> Parameter:
    spec = param.spec if isinstance(param.spec, ValueSpec) else None
    optional = param.default is not EMPTY or (spec is not None and spec.optional)
    default: dict[str, Any] = {} if param.default is EMPTY else {"default": param.default}
    constraint = _constraint(param.name, spec)
    return Parameter(param.name, constraint, not optional, param.is_variadic, **default)


def _attribute(param: Param) -> AttributeParameter:
    assert isinstance(param.spec, AttributeSpec)
    kind = ir.AttributeType[param.spec.kind.stored.value]
    default = None
    if param.default is not EMPTY and param.default is not None:
        default = ir.Attr(param.name, kind, param.default)
    required = param.default is EMPTY and not param.spec.optional
    return AttributeParameter(param.name, kind, required, default)


def _constraint(name: str, spec: ValueSpec | None) -> TypeConstraintParam:
    """What a value may be; anything where its annotation does not name element types."""
    types = spec.types if spec is not None else ()
    tensors = [t for t in types if isinstance(t, TensorType) and t.dtype is not None]
    label = f"T_{name}" if spec is None or spec.typevar is None else spec.typevar
    if not tensors or len(tensors) < len(types):
        return TypeConstraintParam.any_value(label)
    allowed = [ir.TensorType(ir.DataType(t.dtype.value)) for t in tensors if t.dtype is not None]
    return TypeConstraintParam(label, frozenset(allowed))
