"""A script as onnxscript's names show it: `function_ir` with its methods, and `op_schema`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import onnx
import onnx_ir as ir
from typing_extensions import Self

from onnxwright.ir import adapters
from onnxwright.types.annotations import AttributeSpec, ValueSpec
from onnxwright.types.dtypes import DType
from onnxwright.types.signature import EMPTY, FunctionSignature

if TYPE_CHECKING:
    from onnxwright.types.signature import Param

# A value without an annotation may have any tensor type.
_ALL = tuple(dtype.onnx_name for dtype in DType)
_Formal = onnx.defs.OpSchema.FormalParameter
_Option = onnx.defs.OpSchema.FormalParameterOption


class FunctionIR(ir.Function):
    """An `onnx_ir.Function` with the method that onnxscript's `function_ir` has.

    Example:
        >>> from onnxwright import FLOAT, script
        >>> @script
        ... def twice(x: FLOAT) -> FLOAT:
        ...     return x + x
        >>> [node.op_type for node in twice.function_ir.to_function_proto().node]
        ['Add']
    """

    @classmethod
    def of(cls, function: ir.Function) -> Self:
        """The same function.

        Args:
            function: the function; its graph goes on in the new one.
        """
        same = cls(
            function.domain,
            function.name,
            function.overload,
            graph=function.graph,
            attributes=list(function.attributes.values()),
        )
        same.metadata_props.update(function.metadata_props)
        return same

    def to_function_proto(self, domain: str | None = None) -> onnx.FunctionProto:
        """The function as a FunctionProto.

        Args:
            domain: another domain than its own.

        Returns:
            The proto, with what was changed in the function since.
        """
        proto: onnx.FunctionProto = ir.to_proto(self)
        if domain is not None:
            proto.domain = domain
        return proto


def op_schema(
    signature: FunctionSignature, function: ir.Function, version: int
) -> onnx.defs.OpSchema:
    """The schema of a function.

    Args:
        function: the function compiled: it names the results.

    Returns:
        The schema; a value without an annotation may have any tensor type.

    Source:
        onnx.defs.OpSchema; a TypeVar of the annotations is a type variable of the schema.

    Example:
        >>> from onnxwright import FLOAT, script
        >>> @script
        ... def scale(x: FLOAT["N"], factor: float = 2.0) -> FLOAT["N"]:
        ...     return x * factor
        >>> schema = scale.op_schema
        >>> [i.name for i in schema.inputs], schema.attributes["factor"].default_value.f
        (['x'], 2.0)
    """
    constraints: dict[str, tuple[str, ...]] = {}
    inputs = [
        _Formal(
            p.name,
            _variable(p.name, p.spec if isinstance(p.spec, ValueSpec) else None, constraints),
            param_option=_option(p),
        )
        for p in signature.values
    ]
    returns: Sequence[ValueSpec | None] = signature.returns or ()
    outputs = []
    for n, value in enumerate(function.outputs):
        spec = returns[n] if n < len(returns) else None
        name = value.name or f"output_{n}"
        outputs.append(_Formal(name, _variable(f"output_{n}", spec, constraints)))
    return onnx.defs.OpSchema(
        function.name,
        function.domain,
        version,
        function.doc_string or "",
        inputs=inputs,
        outputs=outputs,
        type_constraints=[(name, list(types), "") for name, types in constraints.items()],
        attributes=[_attribute(p) for p in signature.attributes],
    )


def _option(param: Param) -> onnx.defs.OpSchema.FormalParameterOption:
    spec = param.spec
    optional = param.default is not EMPTY or (isinstance(spec, ValueSpec) and spec.optional)
    return _Option.Optional if optional else _Option.Single


def _variable(name: str, spec: ValueSpec | None, constraints: dict[str, tuple[str, ...]]) -> str:
    """The type variable of a value, with the types that it may have."""
    label = f"T_{name}" if spec is None or spec.typevar is None else spec.typevar
    names = [kind.onnx_name for kind in (() if spec is None else spec.types)]
    stated = names and not any("?" in name for name in names)
    constraints[label] = tuple(dict.fromkeys(names)) if stated else _ALL
    return label


def _attribute(param: Param) -> onnx.defs.OpSchema.Attribute:
    assert isinstance(param.spec, AttributeSpec)
    kind = adapters.attribute_type(param.spec.kind)
    if param.default is EMPTY or param.default is None:
        return onnx.defs.OpSchema.Attribute(
            param.name,
            getattr(onnx.defs.OpSchema.AttrType, kind.name),
            required=param.default is EMPTY and not param.spec.optional,
        )
    default = ir.to_proto(adapters.attribute(param.name, param.default, param.spec.kind))
    return onnx.defs.OpSchema.Attribute(param.name, default_value=default)
