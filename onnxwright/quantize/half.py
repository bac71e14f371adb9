"""`to_half`: a model that computes in FLOAT16 or BFLOAT16."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import onnx_ir as ir
from onnx_ir.passes.common import InlinePass

from onnxwright.diagnostics.catalogue import quantize as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.shown_text import ShownText
from onnxwright.ir.nested import all_nodes
from onnxwright.quantize.half_masks import masked_nodes
from onnxwright.quantize.half_rewrite import Plan, rewrite
from onnxwright.quantize.half_types import HalfTypes, is_float
from onnxwright.quantize.half_values import (
    beyond_range,
    constants_of,
    fault_of,
    from_integers,
    infer_types,
)
from onnxwright.quantize.models import opened, raise_version
from onnxwright.quantize.patterns import Patterns
from onnxwright.quantize.removing import stored_bytes

_TYPES = {"float16": ir.DataType.FLOAT16, "bfloat16": ir.DataType.BFLOAT16}
# Min and Max that broadcast; Cast to BFLOAT16.
_LEAST_VERSION = {ir.DataType.FLOAT16: 8, ir.DataType.BFLOAT16: 13}
_INTEGERS = "it computes from integers, which half precision does not hold"
_MASKS = "a mask that may be beyond the range is added to its scores"


@dataclass
class HalfReport(ShownText):
    """What `to_half` did.

    Fields:
        dtype: "float16" or "bfloat16".
        bytes: the bytes of all initializers and constants of the model, before and after.
        converted: how many nodes compute in half precision now.
        kept: the nodes that still compute in FLOAT, `operator name`, each with the reason.
    """

    dtype: str = ""
    bytes: tuple[int, int] = (0, 0)
    converted: int = 0
    kept: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        before, after = self.bytes
        lines = [f"weights {before:,} -> {after:,} bytes"]
        lines.append(f"{self.converted} nodes compute in {self.dtype}, {len(self.kept)} in float32")
        lines += [f"  {node}: {reason}" for node, reason in self.kept.items()]
        return "\n".join(lines)


def to_half(
    model: Any,
    dtype: str = "float16",
    *,
    keep: str | Iterable[str] = (),
    io: str = "keep",
    inputs: Mapping[str, Any] | None = None,
    report: bool = False,
) -> Any:
    """A model whose values of FLOAT are of half precision.

    Weights, values, bodies of If, Loop and Scan and attributes that are element types (`to` of
    Cast, the value of ConstantOfShape) change together; functions are inlined.
    These nodes still compute in FLOAT, between Casts:

    * operators whose schema or whose kernel in ONNX Runtime's CPU does not have the type, such as
      the scales of Resize, random operators, those of other domains, and those of sequences and
      optional values;
    * nodes with a constant beyond the range of the type, or so small that it would become 0;
    * nodes that compute from integers and constants alone: positions, counts and masks;
    * sums of scores with a mask of numbers beyond the range, or with one that is an input of FLOAT,
      and their Softmax: FLOAT16's lowest number plus a negative score would be -inf;
    * those that `keep` names, and those whose values are beyond the range in a run on `inputs`.

    What such a node gives is limited to the range of the type where it goes on in half precision.

    Args:
        model: a ModelProto, an `onnx_ir.Model`, a path, bytes, a file, an `ONNXProgram` or a
            script; it is not changed.
        dtype: "float16" or "bfloat16".
        keep: names of nodes, their operators, their first outputs or weights, or patterns
            (`fnmatch`): these nodes compute in FLOAT.
        io: "keep" for inputs and outputs of FLOAT as before, "half" to change them as well.
        inputs: arrays by name, to run the model once.
        report: whether to return a `HalfReport` too.

    Returns:
        The same kind as `model`; an `onnx_ir.Model` for a path, bytes or a file.  With `report`, a
        pair of it and the report.

    Raises:
        ScriptValueError: an option is not valid (OW920).
        ConversionError: the model is older than opset 8, or than 13 for BFLOAT16, and cannot be
            converted (OW870).
        EagerError: the model does not run on `inputs`.

    Warns:
        OnnxwrightWarning: a pattern of `keep` matches nothing (OW922).

    Source:
        The type constraints of `onnx.defs`; the kernels of ONNX Runtime's CPU.

    Example:
        >>> import onnx
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 10, opset_import: ["" : 21]>'
        ...     "g (float[1,2] x) => (float[1,2] y) { y = Softmax(x) }"
        ... )
        >>> [node.op_type for node in to_half(model).graph.node]
        ['Cast', 'Softmax', 'Cast']
        >>> [node.op_type for node in to_half(model, io="half").graph.node]
        ['Softmax']
    """
    if dtype not in _TYPES:
        _refuse("dtype", dtype, "'float16' and 'bfloat16' are supported")
    if io not in ("keep", "half"):
        _refuse("io", io, "'keep' for inputs and outputs as they are, 'half' to change them")
    source, patterns = opened(model), Patterns("keep", keep)
    half_model, kind = source.model, _TYPES[dtype]
    raise_version(half_model, _LEAST_VERSION[kind], single=True)
    if half_model.functions:
        InlinePass()(half_model)
        half_model.functions.clear()
    infer_types(half_model)
    done = HalfReport(dtype)
    before = stored_bytes(half_model)
    plan = Plan(kind, half_io=io == "half")
    _decide(plan, half_model, patterns, inputs, done)
    rewrite(half_model, plan)
    patterns.warn_unused(node.op_type for node in all_nodes(half_model.graph))
    done.bytes = (before, stored_bytes(half_model))
    result = source.close(half_model)
    return (result, done) if report else result


def _decide(
    plan: Plan, model: ir.Model, patterns: Patterns, inputs: Mapping[str, Any] | None,
    done: HalfReport,
) -> None:  # fmt: skip
    """Decide for each node what of it becomes half precision."""
    kind = plan.kind
    types = HalfTypes(kind, int(model.graph.opset_imports.get("", 1)))
    for value, tensor in constants_of(model):
        why = fault_of(tensor, kind)
        if why:
            plan.wide[value] = why
        release = getattr(tensor, "release", None)
        if release is not None:
            release()
    large = beyond_range(model, inputs, kind) if inputs is not None else {}
    computed = dict.fromkeys(from_integers(model), _INTEGERS)
    masks = masked_nodes(model, plan.wide, () if plan.half_io else model.graph.inputs)
    computed = dict.fromkeys(masks, _MASKS) | computed
    for node in all_nodes(model.graph):
        if node.op_type == "Constant" or not any(map(is_float, (*node.inputs, *node.outputs))):
            continue
        ins, outs, reason = types.ports(node)
        exact = _exact_reason(node, plan, patterns, large, computed)
        if exact:
            ins, outs, reason = set(), set(), exact
            plan.exact.add(node)
        plan.inputs[node], plan.outputs[node] = ins, outs
        if ins or outs:
            done.converted += 1
        elif reason:
            done.kept[f"{node.op_type} {node.name or node.outputs[0].name}"] = reason


def _exact_reason(
    node: ir.Node, plan: Plan, patterns: Patterns, large: Mapping[ir.Value, float],
    computed: Mapping[ir.Node, str],
) -> str:  # fmt: skip
    """Why a node computes in FLOAT although half precision may have it; empty where it does not."""
    named = [value for value in node.inputs if value is not None]
    weights = [v.name for v in named if v.is_initializer()]
    if patterns.match(node.name, node.op_type, node.outputs[0].name, *weights):
        return "it was asked to keep it"
    for value in named:
        if value in plan.wide:
            return f"of its constant {value.name}, {plan.wide[value]}"
    for value in (*named, *node.outputs):
        if value in large:
            return f"{value.name} is {large[value]:g} in the run"
    return computed.get(node, "")


def _refuse(name: str, value: object, advice: str) -> None:
    fail(messages.BadQuantizeOption(
        name=name, value=repr(value), advice=advice
    ))  # fmt: skip
