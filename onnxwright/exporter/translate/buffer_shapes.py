"""Buffers that a module replaces by tensors of another shape or type: the state of a model has one.

`self.b = y` in a forward is captured as a write into the buffer, `copy_`, whose result is `y`.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node

from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter.places import span_of
from onnxwright.exporter.translate.node_facts import type_of

_REPLACING = (torch.ops.aten.copy_.default, torch.ops.aten.resize_.default)


def check_replaced_buffers(program: ExportedProgram) -> None:
    """Refuse a program that replaces a buffer by a tensor which does not fit into it.

    Raises:
        ExportError: it does (OW856).
    """
    nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
    specs = zip(nodes, program.graph_signature.input_specs, strict=True)
    buffers = {node: str(spec.target) for node, spec in specs if spec.kind is InputKind.BUFFER}
    for node in program.graph.nodes:
        if node.target in _REPLACING and node.args[0] in buffers:
            before, after = (n.meta.get("val") for n in (node.args[0], node))
            tensors = isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor)
            if tensors and not _fits(before, after):
                _raise_replaced(buffers[node.args[0]], node, before, after)


def _fits(before: Any, after: Any) -> bool:
    """Whether the old shape can be broadcast to the new one, as a write of its values is."""
    if before.dtype != after.dtype or before.dim() > after.dim():
        return False
    pairs = zip(reversed(before.shape), reversed(after.shape), strict=False)
    return all(_is_one(a) or str(a) == str(b) for a, b in pairs)


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


def _raise_replaced(name: str, node: Node, before: Any, after: Any) -> NoReturn:
    fail(
        messages.BufferReplaced(
            buffer=name, before=type_of(before), after=type_of(after), span=span_of(node)
        )
    )
