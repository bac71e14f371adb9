"""Types of a node's outputs from those of its inputs: rules for the common operators, else ONNX's.

The rules of the operators' records (`OperatorFacts.infer`) know names of dimensions and values that
are shapes, and say what contradicts itself; for the other operators ONNX's own inference is asked,
node by node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnx_ir as ir
from onnx import shape_inference

from onnxwright.ir.adapters import from_type_proto, reference, tensor, type_proto
from onnxwright.operators import facts
from onnxwright.operators.op_call import ContradictionError, OpCall, UnknownError, as_array
from onnxwright.operators.record import InferRule
from onnxwright.opset.registry import OpSignature, show_type, show_types
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import (
    MapType,
    OnnxType,
    OptionalType,
    SequenceType,
    TensorType,
    fits,
    parse_onnx_name,
    refine_types,
    tensor_type,
    unify_types,
)
from onnxwright.types.shapes import Shape

# What rules and ONNX's inference raise for inputs that contradict each other.
INFERENCE_ERRORS = (
    ContradictionError,
    shape_inference.InferenceError,
    onnx.checker.ValidationError,
)

_ELEMENTS = {int(dtype) for dtype in DType}
# Values up to this size are shown to inference (shapes, axes, paddings).
_DATA_LIMIT = 1024


def infer(
    signature: OpSignature,
    node: ir.Node,
    inputs: Sequence[OnnxType | None],
    arrays: Sequence[np.ndarray[Any, Any] | None],
    opset_version: int,
) -> list[OnnxType | None]:
    """The types of the outputs of a node, as far as they can be inferred.

    Args:
        signature: the operator's schema.
        node: the node; names of its values do not matter.
        inputs: the input types, None where not known or absent.
        opset_version: the version of the domain the function uses.

    Raises:
        INFERENCE_ERRORS: the inputs contradict each other.
    """
    attributes = {a.name: reference(a) if a.is_ref() else a.value for a in node.attributes.values()}
    present = [v is not None for v in node.inputs]
    call = OpCall(
        signature, attributes, len(node.outputs), inputs, arrays, [None] * len(inputs), present
    )
    return infer_call(call, node.attributes.values, opset_version)


def infer_call(
    call: OpCall, attributes: Callable[[], Any], opset_version: int
) -> list[OnnxType | None]:
    """The types of the outputs of a call, as far as they can be inferred.

    Args:
        attributes: gives its attributes as onnx_ir has them, where ONNX has to be asked.
        opset_version: the version of the domain that is in force.

    Raises:
        INFERENCE_ERRORS: the inputs contradict each other.
    """
    if len(call.types) < call.signature.min_input:
        return [None] * call.count  # an invalid node, of which rules and onnx know nothing
    if call.signature.domain == "":
        rule = facts(call.name).infer
        if rule is not None:
            try:
                return _by_rule(call, rule)
            except ContradictionError:
                raise
            except UnknownError:
                pass
    return infer_by_onnx(call, attributes(), opset_version)


def _by_rule(call: OpCall, rule: InferRule) -> list[OnnxType | None]:
    """What a rule says, if the element types are allowed."""
    dtypes = _dtypes(call)
    result = rule(call)
    if type(result) is list:
        return result
    assert isinstance(result, tuple)
    if call.name == "Cast":
        to = call.attr("to")
        if type(to) is not int or to not in _ELEMENTS:
            raise UnknownError
        return [TensorType(DType(to), result)]
    if call.count != 1 or dtypes is None:
        raise UnknownError
    return [tensor_type(dtypes, result)]


class _Plan:
    """The element types of a schema: what each input may have, where the first output has its."""

    __slots__ = ("allowed", "fixed", "results", "source", "variables")

    def __init__(self, signature: OpSignature) -> None:
        self.allowed = [
            frozenset(DType.from_onnx_name(t) for t in p.types if t.startswith("tensor("))
            for p in signature.inputs
        ]
        self.variables = [p.type_str if p.homogeneous else None for p in signature.inputs]
        output = signature.outputs[0]
        tensors = [t for t in output.types if t.startswith("tensor(")]
        self.fixed = (
            DType.from_onnx_name(tensors[0]) if len(output.types) == 1 and tensors else None
        )
        self.source = output.type_str
        # By the element types of the inputs of a call: that of its first output.
        self.results: dict[tuple[DType | None, ...], DType | None] = {}


_PLANS: dict[int, tuple[OpSignature, _Plan]] = {}


def _dtypes(call: OpCall) -> DType | None:
    """The element type of the first output, as the schema's variables say.

    Raises:
        UnknownError: an input has a type that the schema does not allow, or no known type.
    """
    held = _PLANS.get(id(call.signature))
    if held is None:
        # The signature is kept with its plan, so that no other one gets its id.
        held = _PLANS[id(call.signature)] = (call.signature, _Plan(call.signature))
    plan = held[1]
    dtypes: list[DType | None] = []
    for kind, present in zip(call.types, call.present):
        if not present:
            dtypes.append(None)
        elif type(kind) is TensorType and kind.dtype is not None:
            dtypes.append(kind.dtype)
        else:
            raise UnknownError
    key = tuple(dtypes)
    result: DType | None = plan.results.get(key, _UNSEEN)
    if result is _UNSEEN:
        result = _first_output(plan, dtypes)
        if len(dtypes) <= _MOST_INPUTS:
            plan.results[key] = result
    return result


# Of calls with more inputs nothing is kept: there are too many kinds of them.
_MOST_INPUTS = 4
_UNSEEN: Any = object()


def _first_output(plan: _Plan, dtypes: list[DType | None]) -> DType | None:
    last = len(plan.allowed) - 1
    seen: dict[str, DType] = {}
    for n, dtype in enumerate(dtypes):
        if dtype is None:
            continue
        place = min(last, n)
        if dtype not in plan.allowed[place]:
            raise UnknownError
        variable = plan.variables[place]
        if variable is not None and seen.setdefault(variable, dtype) is not dtype:
            raise UnknownError
    return plan.fixed if plan.fixed is not None else seen.get(plan.source)


def infer_by_onnx(call: OpCall, attributes: Any, opset_version: int) -> list[OnnxType | None]:
    """What ONNX's own inference says."""
    signature, inputs = call.signature, call.types
    attributes = list(attributes)
    if call.name != "Constant" and any(
        a.is_ref() and a.type is not ir.AttributeType.FLOAT for a in attributes
    ):
        # The attribute has a value where the function is called: its default says nothing.
        return by_variable(signature, call.count, inputs)
    try:
        types = _ask_onnx(call, inputs, attributes, opset_version)
    except INFERENCE_ERRORS as error:
        _check_types(call, error)
        raise
    except ValueError:
        if all(_is_complete(inputs[n]) for n, present in enumerate(call.present) if present):
            raise
        types = _with_stand_ins(call, attributes, opset_version)
    return [
        kind if kind is not None else _by_variable(signature, n, inputs)
        for n, kind in enumerate(types)
    ]


def _check_types(call: OpCall, error: Exception) -> None:
    """Say which input has a type that the schema does not allow, if that is why ONNX refused.

    Args:
        error: what ONNX said, which becomes the cause.

    Raises:
        ContradictionError: there is such an input.
    """
    formal = call.signature.inputs
    seen: dict[str, tuple[str, str]] = {}
    for n, kind in enumerate(call.types):
        if not _is_complete(kind) or not call.present[n] or not formal:
            continue
        assert kind is not None
        param = formal[min(n, len(formal) - 1)]
        if kind.onnx_name not in param.types:
            expected = f"`{param.name}` of {show_types(param.types, 5)}"
            raise ContradictionError(expected, kind) from error
        name, first = seen.setdefault(param.type_str, (kind.onnx_name, param.name))
        if param.homogeneous and name != kind.onnx_name:
            expected = f"`{param.name}` of {show_type(name)}, as `{first}` has"
            raise ContradictionError(expected, kind) from error


def _ask_onnx(
    call: OpCall, inputs: Sequence[OnnxType | None], attributes: list[Any], opset_version: int
) -> list[OnnxType | None]:
    """The types of the outputs by ONNX's inference, for inputs of these types."""
    arrays: dict[int, np.ndarray[Any, Any]] = {}
    for n, present in enumerate(call.present):
        array = _data(call, n) if present else None
        if array is not None and array.size <= _DATA_LIMIT and array.dtype != object:
            arrays[n] = array
    written = [_written(a) for a in attributes if not a.is_ref()]
    if None in written:
        return _ask_anew(call, inputs, attributes, opset_version, arrays)
    held = tuple((n, a.dtype, a.shape, a.tobytes()) for n, a in arrays.items())
    types = tuple(inputs), tuple(call.present)
    key = (id(call.signature), opset_version, call.count, types, held, tuple(written))
    answer = _ANSWERS.get(key)
    if answer is None:
        if len(_ANSWERS) >= _MOST_ANSWERS:
            _ANSWERS.clear()
        types_of_outputs = _ask_anew(call, inputs, attributes, opset_version, arrays)
        # The signature is kept with the answer, so that no other one gets its id.
        answer = _ANSWERS[key] = (call.signature, tuple(types_of_outputs))
    return list(answer[1])


def _written(attr: ir.Attr) -> tuple[str, ir.AttributeType, str] | None:
    """All that an attribute says, as text; None for graphs, tensors, types and long lists."""
    value = attr.value
    if attr.type not in _AS_TEXT:
        return None
    if type(value) is not int and type(value) is not float and len(value) > _DATA_LIMIT:
        return None
    return attr.name, attr.type, repr(value)


# Kinds of attributes of which the text is all that they say: 0.0 and -0.0 differ in it.
_AS_TEXT = frozenset((
    ir.AttributeType.INT, ir.AttributeType.INTS, ir.AttributeType.FLOAT, ir.AttributeType.FLOATS,
    ir.AttributeType.STRING, ir.AttributeType.STRINGS,
))  # fmt: skip
# What ONNX answered, where all that a call has can be compared.
_ANSWERS: dict[tuple[object, ...], tuple[OpSignature, tuple[OnnxType | None, ...]]] = {}
_MOST_ANSWERS = 4096


def _ask_anew(
    call: OpCall,
    inputs: Sequence[OnnxType | None],
    attributes: list[Any],
    opset_version: int,
    arrays: Mapping[int, np.ndarray[Any, Any]],
) -> list[OnnxType | None]:
    signature = call.signature
    proto = onnx.NodeProto()
    proto.op_type = call.name
    proto.domain = signature.domain
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for n, present in enumerate(call.present):
        if not present:
            proto.input.append("")
            continue
        name = f"i{n}"
        proto.input.append(name)
        types[name] = type_proto(inputs[n])
        if n in arrays:
            data[name] = ir.serde.serialize_tensor(tensor(arrays[n], name))
    proto.output.extend(f"o{n}" for n in range(call.count))
    for attr in attributes:
        if not attr.is_ref():
            proto.attribute.append(ir.to_proto(attr))
    inferred = shape_inference.infer_node_outputs(
        signature.schema,
        proto,
        types,
        data or None,
        opset_imports=[onnx.helper.make_opsetid(signature.domain, opset_version)],
    )
    kinds = (inferred.get(f"o{n}") for n in range(call.count))
    return [None if kind is None else from_type_proto(kind) for kind in kinds]


def _is_complete(kind: OnnxType | None) -> bool:
    """Whether the element type is known, of what a container holds too."""
    if isinstance(kind, (SequenceType, OptionalType)):
        return _is_complete(kind.elem)
    if isinstance(kind, MapType):
        return _is_complete(kind.value)
    return kind is not None and kind.dtype is not None


def _with_stand_ins(
    call: OpCall, attributes: list[Any], opset_version: int
) -> list[OnnxType | None]:
    """What ONNX's inference gives for every choice of the unknown types.

    Some operators are refused where a type is not known.  They are asked with two types that the
    schema allows in its place, as different as possible: what both results share is known.
    """
    answers: list[list[OnnxType | None]] = []
    refusal: Exception | None = None
    for choice in (0, -1):
        inputs = _filled(call, choice)
        if inputs is None:
            return [None] * call.count
        try:
            answers.append(_ask_onnx(call, inputs, attributes, opset_version))
        except INFERENCE_ERRORS as error:
            refusal = error
        except ValueError:  # types that it does not take apart, as a sequence of nothing known
            return [None] * call.count
    if not answers:
        assert refusal is not None
        raise refusal
    return [unify_types(a, b) for a, b in zip(answers[0], answers[-1], strict=True)]


def _filled(call: OpCall, choice: int) -> list[OnnxType | None] | None:
    """The input types with an allowed one for each that is not complete; None if there is none."""
    formal = call.signature.inputs
    params = [formal[min(n, len(formal) - 1)] for n in range(len(call.types))]
    chosen: dict[str, OnnxType] = {}  # by type variable
    for param, kind in zip(params, call.types, strict=True):
        if param.homogeneous and kind is not None and _is_complete(kind):
            chosen.setdefault(param.type_str, parse_onnx_name(kind.onnx_name))
    filled = list(call.types)
    for n, (param, kind) in enumerate(zip(params, call.types, strict=True)):
        if not call.present[n] or _is_complete(kind):
            continue
        one = chosen.get(param.type_str)
        if one is None:
            allowed = [a for a in map(parse_onnx_name, sorted(param.types)) if fits(kind, a)]
            if not allowed:
                return None
            # Sorted by name: maps and sequences first, tensors last.
            one = allowed[choice]
            if param.homogeneous:
                chosen[param.type_str] = one
        filled[n] = refine_types(kind, one)
    return filled


def _data(call: OpCall, n: int) -> np.ndarray[Any, Any] | None:
    """The array an input holds, also where it is known as a shape of numbers."""
    array, kind = call.arrays[n], call.types[n]
    if array is None and n < len(call.values) and isinstance(kind, TensorType):
        dims: Shape | None = call.values[n]
        array = None if dims is None else as_array(dims, kind)
    return array


def by_variable(
    signature: OpSignature, count: int, inputs: Sequence[OnnxType | None]
) -> list[OnnxType | None]:
    """What the type variables of a schema alone say of the outputs."""
    return [_by_variable(signature, n, inputs) for n in range(count)]


def _by_variable(
    signature: OpSignature, n: int, inputs: Sequence[OnnxType | None]
) -> OnnxType | None:
    """The element type alone: of the one type allowed, or of an input of the same variable."""
    if not signature.outputs:
        return None
    param = signature.outputs[min(n, len(signature.outputs) - 1)]
    if len(param.types) == 1:
        (only,) = param.types
        if only.startswith("tensor("):
            return TensorType(DType.from_onnx_name(only))
    for formal, kind in zip(signature.inputs, inputs, strict=False):
        if formal.type_str == param.type_str and isinstance(kind, TensorType):
            return TensorType(kind.dtype)
    return None


def schema_kinds(signature: OpSignature | None) -> Mapping[str, Any]:
    """Attribute name to kind, from the schema; empty for an operator without one."""
    if signature is None:
        return {}
    entry = _KINDS.get(id(signature))
    if entry is None:
        kinds = {name: param.kind for name, param in signature.attributes.items()}
        # The signature is kept with them, so that no other one gets its id.
        entry = _KINDS[id(signature)] = (signature, kinds)
    return entry[1]


_KINDS: dict[int, tuple[OpSignature, Mapping[str, Any]]] = {}
