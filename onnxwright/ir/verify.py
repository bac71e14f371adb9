"""What must hold of IR that is given out: one definition a value, scopes, schemas, opset imports.

A violation is a bug in onnxwright: an `InternalError` that names the node and its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

import onnx_ir as ir

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue.loading import InvalidModel
from onnxwright.diagnostics.catalogue.models import CompilerBug
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.ir.builder import ORIGIN
from onnxwright.ir.nested import subgraphs
from onnxwright.ir.text import clean
from onnxwright.operators.contrib import is_of_runtime
from onnxwright.opset.registry import OpSignature, is_known_domain, signature


def verify(
    inputs: Iterable[ir.Value],
    outputs: Iterable[ir.Value],
    nodes: Iterable[ir.Node],
    imports: Mapping[str, int],
    span: Span | None = None,
    *,
    opened: bool = False,
) -> None:
    """Check a function body or main graph.

    Args:
        inputs, outputs, nodes: the body; subgraphs are checked with it.
        imports: the version of each domain it may use.
        span: the function's place, for the message.
        opened: whether it has nodes of a model of the user, which may be invalid.

    Raises:
        InternalError: an invariant does not hold (OW901).
        ModelError: the same, of a model that was opened (OW744).

    Example:
        >>> x, y = ir.Value(name="x"), ir.Value(name="y")
        >>> node = ir.Node("", "Relu", [x], outputs=[y])
        >>> verify([x], [y], [node], {"": 18})
    """
    check = _Verifier(imports, span, opened)
    check.graph(list(inputs), list(outputs), nodes, set())


class _Verifier:
    def __init__(self, imports: Mapping[str, int], span: Span | None, opened: bool) -> None:
        self.opened = opened
        self.imports = imports
        self.span = span
        self.names: set[str] = set()
        # Of each operator that was met: its schema and the attributes that a call needs.
        self.schemas: dict[tuple[str, str], tuple[OpSignature, tuple[str, ...]] | None] = {}

    def broken(self, what: str, node: ir.Node | None = None) -> NoReturn:
        if self.opened:
            fail(
                InvalidModel(
                    where="the graph" if node is None else f"a node `{clean(node.op_type)}`",
                    what=what, advice="onnx.checker says more of the model that was opened",
                    span=self.span or user_span(),
                )
            )  # fmt: skip
        where = ""
        if node is not None:
            origin = node.metadata_props.get(ORIGIN, "an unknown line")
            where = f" at `{node.op_type}` from {origin}"
        fail(CompilerBug(exception="invalid IR", reason=what + where, span=self.span))

    def define(self, value: ir.Value, visible: set[ir.Value], node: ir.Node | None) -> None:
        name = value.name
        if not name:
            if node is None:
                self.broken("an input has no name")
            return
        if name in self.names:
            self.broken(f"two values are called `{name}`", node)
        self.names.add(name)
        visible.add(value)

    def graph(
        self,
        inputs: list[ir.Value],
        outputs: list[ir.Value],
        nodes: Iterable[ir.Node],
        outer: set[ir.Value],
    ) -> None:
        visible = set(outer)
        for value in inputs:
            self.define(value, visible, None)
        for node in nodes:
            self.node(node, visible)
        for value in outputs:
            if value not in visible:
                self.broken(f"the output `{value.name}` is made nowhere")

    def node(self, node: ir.Node, visible: set[ir.Value]) -> None:
        for value in node.inputs:
            if value is not None and value not in visible:
                self.broken(f"`{value.name}` is read before it is made", node)
        self.schema(node)
        if node.attributes.data:
            for inner in subgraphs(node):
                self.graph(list(inner.inputs), list(inner.outputs), inner, visible)
        for value in node.outputs:
            self.define(value, visible, node)

    def schema_of(self, node: ir.Node) -> tuple[OpSignature, tuple[str, ...]] | None:
        """The schema of a node's operator and its required attributes; None where it has none."""
        version = self.imports.get(node.domain)
        if version is None:
            self.broken(f"domain `{node.domain}` is not imported", node)
        if not is_known_domain(node.domain):
            return None
        sig = signature(node.domain, node.op_type, version)
        if sig is None:
            if not node.domain and is_of_runtime(node.op_type, version):
                return None
            self.broken(f"version {version} has no such operator", node)
        return sig, tuple(n for n, attr in sig.attributes.items() if attr.required)

    def schema(self, node: ir.Node) -> None:
        key = (node.domain, node.op_type)
        if key not in self.schemas:
            self.schemas[key] = self.schema_of(node)
        found = self.schemas[key]
        if found is None:
            return
        sig, required = found
        if not sig.min_input <= len(node.inputs) <= sig.max_input:
            self.broken(f"{len(node.inputs)} inputs", node)
        if not sig.min_output <= len(node.outputs) <= sig.max_output:
            self.broken(f"{len(node.outputs)} outputs", node)
        for name in required:
            if name not in node.attributes:
                self.broken(f"attribute `{name}` is missing", node)
