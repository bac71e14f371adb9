"""How the body of a function becomes a graph, chosen once for each function.

`Usual` is for scripts: constants are shared, dead nodes go, every domain has one opset version.
`verbatim.emission.Verbatim` is for decompiled scripts: the nodes as they are written.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from onnxwright.converter.lower.context import Context, Script, VerbatimPlan
from onnxwright.converter.lower.reconcile import reconcile
from onnxwright.converter.lower.state import Handlers, Lowering
from onnxwright.converter.lower.tables import USUAL
from onnxwright.converter.pipeline import Front, front
from onnxwright.diagnostics.catalogue import models
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.ir import adapters
from onnxwright.ir.builder import Recorder
from onnxwright.ir.nested import all_nodes
from onnxwright.ir.verify import verify
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.kinds import OnnxType


class Usual:
    """The graph of a script."""

    handlers: Handlers = USUAL

    def front(self, script: Script) -> Front:
        """The stages before lowering."""
        return front(script.function, script.source_text)

    def recorder(self, plan: VerbatimPlan, *, main: bool) -> Recorder:
        """What the nodes are recorded in; the main graph of a model keeps initializers."""
        recorder = Recorder()
        recorder.keeps_initializers = main
        return recorder

    def check_input(self, script: Script, name: str, kind: OnnxType | None, span: Span) -> None:
        """Refuse an input of a model without a complete type."""
        if not adapters.complete(kind):
            fail(models.InputWithoutType(name=name, function=script.name, span=span))

    def name_outputs(
        self,
        low: Lowering,
        outputs: Sequence[ir.Value],
        sources: Sequence[GraphValue],
        returned: Sequence[str | None],
    ) -> None:
        """Name the results that no variable names, and copies after the variable returned."""
        for n, (value, source) in enumerate(zip(outputs, sources, strict=True)):
            if source.value is not value:
                variable = returned[n] if len(returned) == len(outputs) else None
                if variable is not None and variable != source.value.name:
                    low.b.recorder.rename(value, variable)
            elif value not in low.named:
                low.b.recorder.rename(value, "output" if len(outputs) == 1 else f"output_{n}")

    def close(
        self,
        b: GraphBackend,
        context: Context,
        inputs: Sequence[ir.Value],
        outputs: list[ir.Value],
        span: Span,
    ) -> tuple[dict[str, int], list[ir.Value]]:
        """The versions of the domains, and the outputs, once all nodes are there."""
        recorder = b.recorder
        nodes = recorder.scope.nodes
        imports = reconcile(b, nodes, context.opset_version)
        outputs = [b.replaced.get(v, v) for v in outputs]
        _name_nodes(nodes)
        inputs_and_initializers = dict.fromkeys((*inputs, *recorder.scopes[0].initializers))
        verify(inputs_and_initializers, outputs, nodes, imports, span)
        return imports, outputs


def _name_nodes(nodes: list[ir.Node]) -> None:
    """Name every node after its operator and number, so that a runtime's message can be traced."""
    for count, node in enumerate(all_nodes(nodes)):
        node.name = f"{node.op_type}_{count}"
