"""The ONNX Runtime session of a program; what is lacking where the runtime refuses it."""

from __future__ import annotations

import re
from typing import Any

import onnx_ir as ir

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import EagerError
from onnxwright.exporter.program.running import Session
from onnxwright.exporter.report.export_report import TARGETS

_LACKS = re.compile(r"Could not find an implementation for (?P<op>\w+)\(\d+\).*'(?P<node>[^']*)'")


def session_of(model: ir.Model, target: str, **options: Any) -> Session:
    """A session for a model.

    Raises:
        ExportError: the model was exported for any runtime, and this one has no kernel for a node
            (OW831).
        EagerError: the runtime refuses the model for another reason (OW622).
    """
    try:
        return Session(model, **options)
    except EagerError as error:
        lacks = _LACKS.search(str(error))
        if lacks is None or target == TARGETS[0]:
            raise
        fail(
            messages.NoKernel(
                operator=lacks["op"],
                types=_types(model, lacks["node"]),
                node=lacks["node"],
                span=user_span(),
            )
        )


def _types(model: ir.Model, name: str) -> str:
    """The element types that a node is given."""
    for node in model.graph.all_nodes():
        if node.name == name:
            found = [v.dtype.name for v in node.inputs if v is not None and v.dtype is not None]
            return ", ".join(dict.fromkeys(found))
    return "its types"
