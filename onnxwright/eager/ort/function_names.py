"""Local functions that are named like operators get other names before ONNX Runtime sees them.

Its fusions find nodes by the operator's name alone, without the domain: a call of a function `Add`
of one input is taken for an Add of two, and the process ends.
"""

from __future__ import annotations

import functools

import onnx

from onnxwright.ir.proto_graphs import nodes_of
from onnxwright.opset.history import normalize_domain


def with_own_names(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model none of whose functions is named like an operator of any domain.

    Args:
        model: a model, checked for the runtime; it stays as it is.

    Returns:
        The model itself where no function is; else another one.

    Example:
        >>> from onnx import parser
        >>> model = parser.parse_model('''<ir_version: 10, opset_import: ["" : 18, "d" : 1]>
        ... g (float[N] x) => (float[N] y) { y = d.Add(x) }
        ... <domain: "d", opset_import: ["" : 18]> Add (a) => (b) { b = Neg(a) }''')
        >>> renamed = with_own_names(model)
        >>> renamed.graph.node[0].op_type, renamed.functions[0].name
        ('Add_function', 'Add_function')
    """
    operators = _operator_names()
    if not any(f.name in operators for f in model.functions):
        return model
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    taken = {f.name for f in copied.functions} | operators
    renamed: dict[tuple[str, str], str] = {}
    for function in copied.functions:
        if function.name not in operators:
            continue
        key = (normalize_domain(function.domain), function.name)
        if key not in renamed:
            name = f"{function.name}_function"
            while name in taken:
                name += "_"
            taken.add(name)
            renamed[key] = name
        function.name = renamed[key]
    for nodes in (copied.graph.node, *(f.node for f in copied.functions)):
        for node in nodes_of(nodes):
            node.op_type = renamed.get((normalize_domain(node.domain), node.op_type), node.op_type)
    return copied


@functools.cache
def _operator_names() -> frozenset[str]:
    """The operators of onnx and of the installed runtime, in all domains and versions."""
    from onnxruntime.capi import onnxruntime_pybind11_state as core

    schemas = [*onnx.defs.get_all_schemas(), *core.get_all_operator_schema()]
    return frozenset(schema.name for schema in schemas)
