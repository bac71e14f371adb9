"""Names of functions when two models become one: different functions have different names."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from onnxwright.ir.nested import all_nodes

Key = tuple[str, str, str]


def rename_clashing(model: ir.Model, taken: Mapping[Key, ir.Function]) -> None:
    """Give functions that are called like other, different ones a new name.

    Args:
        taken: the functions of the model that it becomes a part of.
    """
    for key, function in list(model.functions.items()):
        other = taken.get(key)
        if other is None or same_function(function, other):
            continue
        number = 1
        while (key[0], f"{key[1]}_{number}", key[2]) in {*taken, *model.functions}:
            number += 1
        del model.functions[key]
        function.name = f"{key[1]}_{number}"
        model.functions[function.identifier()] = function
        for graph in (model.graph, *model.functions.values()):
            for node in all_nodes(graph):
                if node.op_identifier() == key:
                    node.op_type = function.name


def same_function(x: ir.Function, y: ir.Function) -> bool:
    """Whether two functions are written alike.

    Returns:
        Whether their protos have the same bytes.
    """
    one, two = ir.to_proto(x), ir.to_proto(y)
    return bool(one.SerializeToString() == two.SerializeToString())
