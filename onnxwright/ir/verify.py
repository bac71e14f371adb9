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
from onnxwright.opset.registry import is_known_domain, signature


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
    check.graph(list(inputs), list(outputs), nodes, {None})  # what is absent can be read


class _Verifier:
    def __init__(self, imports: Mapping[str, int], span: Span | None, opened: bool) -> None:
        self.opened = opened
        self.imports = imports
        self.span = span
        self.names: set[str] = set()
        # Of the calls of an operator with so many inputs and outputs: the attributes they need.
        self.required: dict[tuple[str, str, int, int], tuple[str, ...]] = {}

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

    def define(
        self, values: Iterable[ir.Value], visible: set[ir.Value | None], node: ir.Node | None
    ) -> None:
        names = self.names
        for value in values:
            name = value.name
            if name:
                if name in names:
                    self.broken(f"two values are called `{name}`", node)
                names.add(name)
                visible.add(value)
            elif node is None:
                self.broken("an input has no name")

    def graph(
        self,
        inputs: list[ir.Value],
        outputs: list[ir.Value],
        nodes: Iterable[ir.Node],
        outer: set[ir.Value | None],
    ) -> None:
        visible = set(outer)
        self.define(inputs, visible, None)
        for node in nodes:
            self.node(node, visible)
        for value in outputs:
            if value not in visible:
                self.broken(f"the output `{value.name}` is made nowhere")

    def node(self, node: ir.Node, visible: set[ir.Value | None]) -> None:
        read, outputs = node.inputs, node.outputs
        for value in read:
            if value not in visible:
                assert value is not None
                self.broken(f"`{value.name}` is read before it is made", node)
        form = (node.domain, node.op_type, len(read), len(outputs))
        required = self.required.get(form)
        if required is None:
            required = self.required[form] = self.checked(node)
        for name in required:
            if name not in node.attributes:
                self.broken(f"attribute `{name}` is missing", node)
        if node.attributes.data:
            for inner in subgraphs(node):
                self.graph(list(inner.inputs), list(inner.outputs), inner, visible)
        self.define(outputs, visible, node)

    def checked(self, node: ir.Node) -> tuple[str, ...]:
        """Check how many inputs and outputs a node has, and give the attributes that it needs."""
        version = self.imports.get(node.domain)
        if version is None:
            self.broken(f"domain `{node.domain}` is not imported", node)
        if not is_known_domain(node.domain):
            return ()
        sig = signature(node.domain, node.op_type, version)
        if sig is None:
            if not node.domain and is_of_runtime(node.op_type, version):
                return ()
            self.broken(f"version {version} has no such operator", node)
        if not sig.min_input <= len(node.inputs) <= sig.max_input:
            self.broken(f"{len(node.inputs)} inputs", node)
        if not sig.min_output <= len(node.outputs) <= sig.max_output:
            self.broken(f"{len(node.outputs)} outputs", node)
        return tuple(n for n, attr in sig.attributes.items() if attr.required)
