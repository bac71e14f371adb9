"""What must hold of a model whose nodes are visited one by one, to run or to change them."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from onnxwright.ir.validation.damage import Damage, quoted
from onnxwright.ir.validation.functions import nodes_of
from onnxwright.ir.validation.order import in_order
from onnxwright.opset.attributes import ELEMENT_TYPES
from onnxwright.opset.registry import is_known_domain, signature
from onnxwright.types.dtypes import DType

_A = onnx.AttributeProto
# Outputs that the graph of a node has beside those of the node: the condition of a Loop.
_EXTRA = {"If": 0, "Loop": 1, "Scan": 0, "SequenceMap": 0}
_ELEMENTS = {int(dtype) for dtype in DType}
_SINGLE = {_A.TENSOR: "t", _A.GRAPH: "g", _A.SPARSE_TENSOR: "sparse_tensor", _A.TYPE_PROTO: "tp"}


def runnable(model: onnx.ModelProto) -> onnx.ModelProto:
    """Reject a model that cannot be traversed, and sort its nodes.

    Args:
        model: the model, checked by `check_model`.

    Returns:
        The model itself where its nodes are sorted, else a sorted copy.

    Raises:
        Damage: an attribute has no value or another type than its operator takes, or a call has
            more inputs or outputs than its function, or a node more than its graphs.
    """
    known = {(f.domain, f.name, f.overload): f for f in model.functions}
    for body, word in ((model.graph, "graph"), *((f, "function") for f in model.functions)):
        where = f"{word} {quoted(body.name)}"
        owner = body if isinstance(body, onnx.FunctionProto) else model
        versions = {o.domain or "ai.onnx": o.version for o in owner.opset_import}
        names = set(body.attribute) if isinstance(body, onnx.FunctionProto) else set()
        if isinstance(body, onnx.FunctionProto):
            names |= {a.name for a in body.attribute_proto}
        for node in nodes_of(body.node):
            place = f"{where}, node {quoted(node.name) if node.name else quoted(node.op_type)}"
            function = known.get((node.domain, node.op_type, node.overload))
            if function is not None:
                _check_call(node, function, place)
            else:
                _check_bodies(node, place, versions)
            for attr in node.attribute:
                _check_attribute(attr, names, f"{place}, attribute {quoted(attr.name)}")
            if function is None:
                _check_kinds(node, versions, place)
    return in_order(model)


def _check_call(node: onnx.NodeProto, function: onnx.FunctionProto, where: str) -> None:
    for given, declared, word in (
        (node.input, function.input, "input"),
        (node.output, function.output, "output"),
    ):
        if len(given) > len(declared):
            what = f"it has {len(given)} {word}s, the function {quoted(function.name)} has "
            raise Damage("structure", where, f"{what}{len(declared)}")


def _check_bodies(node: onnx.NodeProto, where: str, versions: Mapping[str, int]) -> None:
    """Refuse an If, Loop, Scan or SequenceMap whose graphs have too few inputs or outputs."""
    extra = _EXTRA.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    if node.op_type == "Scan" and versions.get("ai.onnx", 9) < 9:
        return  # the lengths of Scan 8 are not an input of its graph, and states have a batch
    for attr in node.attribute if extra is not None else ():
        if not attr.HasField("g"):
            continue
        assert extra is not None
        takes, gives = (0 if node.op_type == "If" else len(node.input)), len(node.output) + extra
        place = f"{where}, graph {quoted(attr.g.name)}"
        for given, wanted, word in (
            (len(attr.g.input), max(takes, 2 * extra), "input"),
            (len(attr.g.output), gives, "output"),
        ):
            if given < wanted:
                raise Damage("structure", place, f"it has {given} {word}s, the node needs {wanted}")
        if node.op_type == "Loop" and len(attr.g.input) > max(takes, 2):
            carried = max(takes - 2, 0)
            what = f"it has {len(attr.g.input)} inputs, the node gives it 2 and {carried} values"
            raise Damage("structure", place, what)
        made = {v.name for v in (*attr.g.input, *attr.g.initializer)}
        made |= {t.values.name for t in attr.g.sparse_initializer}
        made.update(name for inner in attr.g.node for name in inner.output)
        for output in attr.g.output:
            if output.name and output.name not in made:
                what = f"its output {quoted(output.name)} is not computed in it"
                advice = "an Identity in it gives a value from outside of it"
                raise Damage("structure", place, what, advice)


def _check_attribute(attr: onnx.AttributeProto, names: set[str], where: str) -> None:
    if attr.type == _A.UNDEFINED:
        raise Damage("structure", where, "it has no type")
    if attr.ref_attr_name:
        if attr.ref_attr_name not in names:
            what = f"it refers to {quoted(attr.ref_attr_name)}, which is not an attribute parameter"
            raise Damage("structure", where, what)
    elif attr.type in _SINGLE and not attr.HasField(_SINGLE[attr.type]):
        raise Damage("structure", where, "it has no value")


def _check_kinds(node: onnx.NodeProto, versions: dict[str, int], where: str) -> None:
    """Refuse attributes of another type than the operator takes."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = versions.get(domain or "ai.onnx")
    known = None
    if version is not None and is_known_domain(domain):
        known = signature(domain, node.op_type, version)
    if known is None:
        return
    if len(node.output) > known.max_output:
        what = f"it has {len(node.output)} outputs, the operator {quoted(node.op_type)} has "
        raise Damage("structure", where, f"{what}at most {known.max_output}")
    for attr in node.attribute:
        wanted = known.attributes.get(attr.name)
        kind = _A.AttributeType.Name(attr.type)
        if wanted is not None and wanted.kind.stored.value != kind:
            other = wanted.kind.stored.value
            place = f"{where}, attribute {quoted(attr.name)}"
            raise Damage("structure", place, f"its type is {kind}, the operator takes {other}")
        lowest = ELEMENT_TYPES.get(attr.name) if wanted is not None and kind == "INT" else None
        if lowest is None or attr.ref_attr_name or attr.i in _ELEMENTS or attr.i == lowest == 0:
            continue
        place = f"{where}, attribute {quoted(attr.name)}"
        raise Damage("structure", place, f"{attr.i} is not an element type")


__all__ = ["runnable"]
