"""Which operators compute in half precision: by schemas and the kernels of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from onnxwright.operators import facts
from onnxwright.opset.registry import InputParam, OpSignature, signature

FLOAT = ir.DataType.FLOAT
_BODIES = ("If", "Loop", "Scan")
# ONNX Runtime (1.32) loads their reductions in half precision, and has no kernel when they run.
_SCATTERS = ("ScatterND", "ScatterElements")
_KINDS = {ir.DataType.FLOAT16: "tensor(float16)", ir.DataType.BFLOAT16: "tensor(bfloat16)"}


def is_float(value: ir.Value | None) -> bool:
    """Whether a value is a tensor of FLOAT."""
    return value is not None and isinstance(value.type, ir.TensorType) and value.dtype is FLOAT


def is_typed(value: ir.Value | None) -> bool:
    """Whether a value is a tensor whose element type is known, or is left out."""
    return (
        value is None
        or not value.name
        or (isinstance(value.type, ir.TensorType) and value.dtype is not None)
    )


class HalfTypes:
    """What the nodes of one model can do in a type.

    Args:
        kind: FLOAT16 or BFLOAT16.
        version: the opset version of the model.
    """

    def __init__(self, kind: ir.DataType, version: int) -> None:
        self.kind, self._version = kind, version
        self._text = _KINDS[kind]

    def ports(self, node: ir.Node) -> tuple[set[int], set[int], str]:
        """The inputs and outputs of a node that become half precision.

        Args:
            node: the node; the types of its values are known.

        Returns:
            The places of inputs, of outputs, and why none of them do, if that has a reason.
        """
        if not all(map(is_typed, (*node.inputs, *node.outputs))):
            return set(), set(), "one of its values is not a tensor, or has an unknown type"
        if node.domain:
            return set(), set(), f"operators of {node.domain} are not changed"
        ins = {n for n, v in enumerate(node.inputs) if is_float(v)}
        outs = {n for n, v in enumerate(node.outputs) if is_float(v)}
        if node.op_type in _BODIES:
            schema = signature("", node.op_type, self._version)
            if schema is None or self._text not in schema.outputs[0].types:
                return set(), set(), f"its schema has no {self.kind.name}"
            return ins, outs, ""
        if node.op_type in ("Constant", "ConstantOfShape", "SequenceMap"):
            return set(), set() if node.op_type != "ConstantOfShape" else self._constant(outs), ""
        if node.op_type in _SCATTERS and node.attributes.get_string("reduction", "none") != "none":
            name = self.kind.name
            return set(), set(), f"ONNX Runtime's CPU has no kernel with a reduction for {name}"
        schema = signature("", node.op_type, self._version)
        if schema is None:
            return set(), set(), "its schema is not known"
        return self._by_schema(node, schema, ins, outs)

    def _constant(self, outs: set[int]) -> set[int]:
        schema = signature("", "ConstantOfShape", self._version)
        fits = schema is not None and self._text in schema.outputs[0].types
        return outs if fits and self._has_kernel("ConstantOfShape", "T2") else set()

    def _by_schema(
        self, node: ir.Node, schema: OpSignature, ins: set[int], outs: set[int]
    ) -> tuple[set[int], set[int], str]:
        reason, fixed = "", {}
        used = {n: _param(schema.inputs, n) for n in ins}
        output_params = {n: _param(schema.outputs, n) for n in outs}
        input_params = {p.type_str for p in used.values()}
        for param in (*used.values(), *output_params.values()):
            variable = param.type_str
            only_output = variable not in input_params
            follows = only_output and self._follows(node)
            attribute = only_output and node.op_type == "Cast"
            if "(" in variable or self._text not in param.types:
                fixed[variable] = ""
            elif not self._has_kernel(node.op_type, variable):
                fixed[variable] = f"ONNX Runtime's CPU has no kernel of it for {self.kind.name}"
            elif only_output and not follows and not attribute:
                # Random numbers, windows: no kernel of the runtime has another type.
                fixed[variable] = "its result has a type that no input says"
        if node.op_type == "DequantizeLinear" and any(fixed.values()):
            return set(), set(), next(filter(None, fixed.values()))
        for why in fixed.values():
            reason = reason or why
        half_ins = {n for n, p in used.items() if p.type_str not in fixed}
        half_outs = {n for n, p in output_params.items() if p.type_str not in fixed}
        # A schema without variables, or an operator whose result cannot follow: as a whole.
        if not half_ins and not half_outs and (ins or outs) and not reason:
            reason = f"its schema has no {self.kind.name}"
        if half_ins and outs and not half_outs and reason:
            return set(), set(), reason
        return half_ins, half_outs, reason if not half_ins and not half_outs else ""

    def _follows(self, node: ir.Node) -> bool:
        """Whether the output has the type of an input, although the schema names it otherwise."""
        held = node.attributes.get("output_dtype")
        return node.op_type == "DequantizeLinear" and (held is None or held.as_int() == 0)

    def _has_kernel(self, name: str, variable: str) -> bool:
        rows = facts(name).missing_kernels(version=self._version)
        if not rows:  # older than what is known: as the oldest version that is known
            rows = facts(name).missing_kernels(version=max(self._version, 13))
        return self.kind.name not in rows.get(variable, ())


def _param(params: Sequence[InputParam], place: int) -> InputParam:
    return params[min(place, len(params) - 1)]
