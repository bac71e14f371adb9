"""The handlers of decompiled scripts, whose calls and loops are lowered as they are written."""

from __future__ import annotations

from dataclasses import replace

import onnx_ir as ir

from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.calls.bodies import name_of
from onnxwright.converter.lower.tables import USUAL
from onnxwright.converter.verbatim.calls import call_op, call_script
from onnxwright.converter.verbatim.loops import execute_for, execute_while
from onnxwright.ir.builder import Recorder


def own_name(recorder: Recorder, name: str, value: ir.Value) -> None:
    """Give the value a variable holds the name of the variable in the model."""
    recorder.name_owner[name] = value


# A callee that is lowered for its types only: its calls as written, its loops as usual.
VERBATIM_TYPES = replace(
    USUAL,
    call_op=call_op,
    call_script=call_script,
    body_name=lambda name, body: name_of(body),
    own_name=own_name,
    checked=False,
)

VERBATIM = replace(
    VERBATIM_TYPES,
    statements={**USUAL.statements, hir.For: execute_for, hir.While: execute_while},
)
