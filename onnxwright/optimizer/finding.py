"""`find`: the places of a model where a pattern lies, or almost lies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.diagnostics.text import clean
from onnxwright.ir.door import opened
from onnxwright.ir.nested import all_nodes
from onnxwright.optimizer.match import Match, Near
from onnxwright.optimizer.matching import Matcher
from onnxwright.optimizer.patterns import Pattern
from onnxwright.optimizer.rules import Rule


@dataclass(frozen=True)
class Found:
    """A place of a model where a pattern lies.

    Fields:
        nodes: the matched nodes, the one of the first result first.
        values: parameter -> the name of what it is bound to (a list for `*rest`).
        attributes: parameter -> the captured attribute.
    """

    nodes: tuple[ir.Node, ...]
    values: dict[str, Any]
    attributes: dict[str, Any]

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v}" for k, v in (self.values | self.attributes).items())
        return f"<{self.nodes[0].op_type} `{self.nodes[0].outputs[0].name}`: {shown}>"


@dataclass(frozen=True)
class NearMiss(Near):
    """A place of a model where a pattern almost lies.

    Fields:
        root: the node that was tried as its root.
    """

    root: ir.Node = field(kw_only=True)

    def __str__(self) -> str:
        at = "" if self.node is None else f" at `{_shown(self.node)}`"
        line = "" if self.line is None else f" (line {self.line})"
        first = f"`{_shown(self.root)}`: {self.expected}{line} does not match{at}: {self.reason}"
        rows = [("  ", part, _in_full(node)) for part, node in self.pairs]
        there = "(nothing)" if self.node is None else _in_full(self.node)
        rows.append(("> ", self.expected, there))
        wide = max(len("the pattern"), *(len(part) for _, part, _ in rows))
        lines = [f"    {'the pattern':{wide}}  the model"]
        lines += [f"  {mark}{part:{wide}}  {node}" for mark, part, node in rows]
        return "\n".join([first, *lines])


def _shown(node: ir.Node) -> str:
    outputs = ", ".join(str(v.name) for v in node.outputs)
    return clean(f"{outputs} = {node.op_type}(...)")


def _in_full(node: ir.Node) -> str:
    """A node with the names of its inputs, and its attributes."""
    outputs = ", ".join(str(v.name) for v in node.outputs)
    arguments = ["" if v is None else str(v.name) for v in node.inputs]
    arguments += [str(a) for a in node.attributes.values() if a.type not in _GRAPHS]
    return clean(f"{outputs} = {node.op_type}({', '.join(arguments)})")


_GRAPHS = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)


def find(
    model: Any,
    pattern: Rule | Callable[..., Any],
    *,
    explain: bool = False,
    shared: bool | None = None,
) -> list[Any]:
    """The places of a model where a pattern lies.

    Args:
        model: a model of any kind (see `ow.load`), or a FunctionProto.
        pattern: a rule, or a pattern function.
        explain: return where it almost lies instead, and why it does not.
        shared: whether interior values may have readers outside of the pattern; by default as for
            a rule when it is applied, and True for a pattern function.

    Returns:
        `Found` for each place; with `explain=True` `NearMiss`, the nearest first.

    Raises:
        ModelTypeError: it is not a model (OW752).

    Example:
        >>> import onnx
        >>> model = onnx.parser.parse_model('''
        ...     <ir_version: 10, opset_import: ["" : 20]>
        ...     g (float[N] x) => (float[N] y) { a = Exp(x)  y = Neg(a) }''')
        >>> find(model, lambda op, x: -op.Exp(x))
        [<Neg `y`: x=x>]
        >>> print(find(model, lambda op, x: -op.Log(x), explain=True)[0].reason)
        it is Exp
    """
    source = opened(model, schemas=True, functions=True)
    version = int(source.graph.opset_imports.get("", onnx.defs.onnx_opset_version()))
    rules = (
        [Pattern.traced(pattern)]
        if not isinstance(pattern, Rule)
        else (pattern.for_version(version).patterns)
    )
    if shared is None:
        shared = pattern.always if isinstance(pattern, Rule) else True
    places: list[Found] = []
    near: list[NearMiss] = []
    for imports, node in nodes_with_imports(source):
        for one in rules:
            if (node.op_type, node.domain) != (one.root.op_type, one.root.domain):
                continue
            matcher = Matcher(one, imports, explain=explain, shared=shared)
            match = next(matcher.at(node), None)
            if match is not None:
                places.append(_found(match))
            elif matcher.near is not None:
                near.append(_near(node, matcher.near))
    return sorted(near, key=lambda n: -n.matched) if explain else places


def nodes_with_imports(model: ir.Model) -> Iterable[tuple[Any, ir.Node]]:
    """All nodes of a model and its functions, each with the opset imports that it is read by."""
    for node in all_nodes(model.graph):
        yield model.graph.opset_imports, node
    for function in model.functions.values():
        for node in all_nodes(function):
            yield function.opset_imports, node


def _found(match: Match) -> Found:
    def name(value: Any) -> Any:
        if isinstance(value, list):
            return [name(v) for v in value]
        return None if value is None else value.name

    return Found(
        tuple(match.nodes.values()),
        {k: name(v) for k, v in match.values.items()},
        dict(match.attributes),
    )


def _near(root: ir.Node, near: Near) -> NearMiss:
    return NearMiss(**vars(near), root=root)
