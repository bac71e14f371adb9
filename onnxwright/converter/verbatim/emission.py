"""The graph of a decompiled script: its nodes, calls and loops as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import onnx_ir as ir

from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.calls.bodies import name_of
from onnxwright.converter.lower.context import Context, Script, VerbatimPlan
from onnxwright.converter.lower.emission import Usual
from onnxwright.converter.lower.state import Handlers, Lowering
from onnxwright.converter.lower.tables import USUAL
from onnxwright.converter.pipeline import Front, front
from onnxwright.converter.verbatim.calls import call_op, call_script
from onnxwright.converter.verbatim.loops import execute_for, execute_while
from onnxwright.diagnostics.span import Span
from onnxwright.ir.builder import Recorder
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.kinds import OnnxType


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


class Verbatim(Usual):
    """Nothing is shared, copied, renamed, removed or converted, unless the plan says so."""

    handlers: Handlers = VERBATIM

    def front(self, script: Script) -> Front:
        """The stages before lowering; the test that ends a `for` is the condition of its Loop."""
        return front(script.function, script.source_text, verbatim=True)

    def recorder(self, plan: VerbatimPlan, *, main: bool) -> Recorder:
        """What the nodes are recorded in."""
        recorder = Recorder(exact=True)
        recorder.shares = plan.shared
        recorder.copies = plan.copies
        recorder.keeps_initializers = True
        return recorder

    def check_input(self, script: Script, name: str, kind: OnnxType | None, span: Span) -> None:
        """Nothing: the given model may have inputs without types."""

    def name_outputs(
        self,
        low: Lowering,
        outputs: Sequence[ir.Value],
        sources: Sequence[GraphValue],
        returned: Sequence[str | None],
    ) -> None:
        """Nothing: the names of the given model are set afterwards."""

    def close(
        self,
        b: GraphBackend,
        context: Context,
        inputs: Sequence[ir.Value],
        outputs: list[ir.Value],
        span: Span,
    ) -> tuple[dict[str, int], list[ir.Value]]:
        """The highest version of each domain, as the script names it."""
        return {domain: max(versions) for domain, versions in b.recorder.opsets.items()}, outputs


class VerbatimTypes(Verbatim):
    """A callee that is lowered for the types of its results only: its loops as usual."""

    handlers: Handlers = VERBATIM_TYPES

    def front(self, script: Script) -> Front:
        """The stages before lowering."""
        return front(script.function, script.source_text)

    def recorder(self, plan: VerbatimPlan, *, main: bool) -> Recorder:
        """What the nodes are recorded in."""
        return Recorder()
