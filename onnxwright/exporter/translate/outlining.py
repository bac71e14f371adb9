"""Nodes of one module or ATen operator as a model-local function; equal ones are shared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.exporter.checks import function_name


@dataclass(frozen=True)
class Group:
    """Nodes that become one function.

    Fields:
        domain, name: what the function is called; a number is added where another has the name.
        nodes: the nodes; those that are calls of functions made before represent their nodes.
    """

    domain: str
    name: str
    nodes: tuple[ir.Node, ...]


class Outliner:
    """Moves nodes of a model into functions.

    Args:
        weights: the names of initializers that stay outside, and are handed in.
    """

    def __init__(self, model: ir.Model, weights: Iterable[str]) -> None:
        self.model = model
        self.weights = set(weights)
        self._shared: dict[tuple[str, str, str], ir.Function] = {}
        self._taken: dict[tuple[str, str], int] = {}

    def outline(self, group: Group) -> ir.Node | None:
        """The call of a new function; None where others are between its nodes."""
        graph = self.model.graph
        order = {node: n for n, node in enumerate(graph)}
        nodes = sorted(group.nodes, key=order.__getitem__)
        inside = set(nodes)
        owners = _owners(nodes)
        inputs, constants = self._reads(nodes, inside)
        outputs = [v for node in nodes for v in node.outputs if self._leaves(v, owners)]
        if not outputs or not _is_convex(nodes, inside, order):
            return None
        place = self._place(nodes, inside, order)
        taken = {v.name for node in nodes for inner in _all_nodes(node) for v in inner.outputs}
        new_inputs = [self._inner(value, nodes, taken) for value in inputs]
        constant_nodes = self._constants(constants, nodes, taken)
        call_outputs = self._call_outputs(outputs, owners)
        place_node = place
        graph.remove(nodes)
        body = ir.Graph(
            new_inputs,
            outputs,
            nodes=[*constant_nodes, *nodes],
            opset_imports={
                d: graph.opset_imports.get(d, 1) for d in _domains([*constant_nodes, *nodes])
            },
            name=group.name,
        )
        for value in [*new_inputs, *(v for n in body for v in n.outputs)]:
            # Calls with other sizes share the function.
            value.type = value.shape = None
            value.metadata_props.clear()
        function = self._function(group, body)
        call = ir.Node(function.domain, function.name, inputs, outputs=call_outputs, name=None)
        if place_node is None:
            graph.append(call)
        else:
            graph.insert_before(place_node, call)
        self.model.graph.opset_imports.setdefault(function.domain, 1)
        return call

    def _reads(
        self, nodes: Sequence[ir.Node], inside: set[ir.Node]
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """Values from outside, in the order of their first use, and constants to copy."""
        inputs: dict[ir.Value, None] = {}
        constants: dict[ir.Value, None] = {}
        within = {v for node in nodes for inner in _all_nodes(node) for v in inner.outputs}
        bound = {v for node in nodes for graph in _graphs(node) for v in graph.inputs}
        for node in nodes:
            for inner in _all_nodes(node):
                for value in inner.inputs:
                    if value is None or value in within or value in bound:
                        continue
                    fixed = value.is_initializer() and value.name not in self.weights
                    (constants if fixed else inputs)[value] = None
            for graph in _graphs(node):
                for value in graph.outputs:
                    if value not in within and value not in bound:
                        inputs[value] = None
        return list(inputs), list(constants)

    def _leaves(self, value: ir.Value, owners: Mapping[ir.Node, ir.Node]) -> bool:
        """Whether something outside reads a value."""
        if value.is_graph_output():
            return True
        return any(node not in owners for node, _ in value.uses())

    def _place(
        self, nodes: Sequence[ir.Node], inside: set[ir.Node], order: Mapping[ir.Node, int]
    ) -> ir.Node | None:
        """The node before which the call goes: the one after the last of the group."""
        last = order[nodes[-1]]
        return next((n for n, i in order.items() if i > last), None)

    def _inner(self, value: ir.Value, nodes: Sequence[ir.Node], taken: set[str | None]) -> ir.Value:
        """The function's input that represents a value, read by the nodes instead of it."""
        name = str(value.name)
        if name in self.weights:
            name = name.rsplit(".", 1)[-1]
        function_input = ir.Value(name=_free(name, taken))
        _replace_in(nodes, value, function_input)
        return function_input

    @staticmethod
    def _constants(
        constants: Sequence[ir.Value], nodes: Sequence[ir.Node], taken: set[str | None]
    ) -> list[ir.Node]:
        constant_nodes = []
        for value in constants:
            tensor = value.const_value
            attribute = ir.Attr("value", ir.AttributeType.TENSOR, tensor)
            inner = ir.Value(name=_free("constant", taken))
            constant_nodes.append(ir.Node("", "Constant", [], [attribute], outputs=[inner]))
            _replace_in(nodes, value, inner)
        return constant_nodes

    def _call_outputs(
        self, outputs: Sequence[ir.Value], owners: Mapping[ir.Node, ir.Node]
    ) -> list[ir.Value]:
        """What the call gives, read instead of the values that go inside."""
        call_outputs = []
        for value in outputs:
            outer = ir.Value(name=value.name, type=value.type, shape=value.shape)
            outer.metadata_props.update(value.metadata_props)
            for node, index in tuple(value.uses()):
                if node not in owners:
                    node.replace_input_with(index, outer)
            for n, old in enumerate(self.model.graph.outputs):
                if old is value:
                    self.model.graph.outputs[n] = outer
            call_outputs.append(outer)
        return call_outputs

    def _function(self, group: Group, body: ir.Graph) -> ir.Function:
        """The function with a body; one that is there already if it computes the same."""
        function = ir.Function(group.domain, group.name, graph=body, attributes=[])
        key = (group.domain, group.name, _text_of(function))
        shared_function = self._shared.get(key)
        if shared_function is not None:
            return shared_function
        number = self._taken.get((group.domain, group.name), 0)
        self._taken[group.domain, group.name] = number + 1
        if number:
            function.name = f"{group.name}_{number}"
        self._shared[key] = function
        self.model.functions[function.identifier()] = function
        return function


def _domains(nodes: Iterable[ir.Node]) -> list[str]:
    """The domains of nodes, those inside too, in order."""
    return sorted({inner.domain for node in nodes for inner in _all_nodes(node)})


def _free(name: str, taken: set[str | None]) -> str:
    """A name that is not taken; it is from now on."""
    chosen, n = name, 0
    while chosen in taken:
        n += 1
        chosen = f"{name}_{n}"
    taken.add(chosen)
    return chosen


def _graphs(node: ir.Node) -> Iterator[ir.Graph]:
    for attr in node.attributes.values():
        if attr.is_ref():
            continue
        if attr.type is ir.AttributeType.GRAPH:
            yield attr.as_graph()
            for inner in attr.as_graph():
                yield from _graphs(inner)


def _all_nodes(node: ir.Node) -> Iterator[ir.Node]:
    """A node and those of its subgraphs."""
    yield node
    for graph in _graphs(node):
        yield from graph


def _owners(nodes: Iterable[ir.Node]) -> dict[ir.Node, ir.Node]:
    """Each node, inner ones too, and the node of the main graph it is in."""
    return {inner: node for node in nodes for inner in _all_nodes(node)}


def _replace_in(nodes: Iterable[ir.Node], old: ir.Value, new: ir.Value) -> None:
    """Let nodes, and those inside, read another value."""
    for node in nodes:
        for inner in _all_nodes(node):
            for n, value in enumerate(inner.inputs):
                if value is old:
                    inner.replace_input_with(n, new)
        for graph in _graphs(node):
            for n, value in enumerate(graph.outputs):
                if value is old:
                    graph.outputs[n] = new


def _is_convex(
    nodes: Sequence[ir.Node], inside: set[ir.Node], order: Mapping[ir.Node, int]
) -> bool:
    """Whether no path leaves the nodes and comes back, which no call could be put for."""
    first, last = order[nodes[0]], order[nodes[-1]]
    tainted: set[ir.Value] = set()
    node_outputs = {v for n in nodes for v in n.outputs}
    for node, n in order.items():
        if not first <= n <= last:
            continue
        read = {v for inner in _all_nodes(node) for v in inner.inputs if v is not None}
        if node in inside:
            if read & tainted:
                return False
        elif read & (node_outputs | tainted):
            tainted.update(node.outputs)
    return True


def _text_of(function: ir.Function) -> str:
    """The function as text in which names of values do not matter, only their order."""
    proto: onnx.FunctionProto = ir.to_proto(function)
    names: dict[str, str] = {}

    def short(name: str) -> str:
        return names.setdefault(name, f"v{len(names)}") if name else ""

    proto.name = ""
    proto.input[:] = [short(n) for n in proto.input]
    for node in proto.node:
        node.name = node.doc_string = ""
        del node.metadata_props[:]
        node.input[:] = [short(n) for n in node.input]
        node.output[:] = [short(n) for n in node.output]
    proto.output[:] = [short(n) for n in proto.output]
    del proto.value_info[:]
    data: bytes = proto.SerializeToString(deterministic=True)
    return data.hex()


# A module call, from the outside in: torch's key for it, its path, its class.
Stack = tuple[tuple[str, str, str], ...]


def stack_of(fx_node: Any) -> Stack:
    """The module calls that an FX node is in, outermost first; empty for a node of no module."""
    stack = fx_node.meta.get("nn_module_stack") or {}
    module_calls = []
    for key, (path, kind) in stack.items():
        if isinstance(kind, str):
            module_calls.append((key, path, kind))
        elif isinstance(kind, type):
            module_calls.append((key, path, f"{kind.__module__}.{kind.__qualname__}"))
    return tuple(module_calls)


def outline_modules(
    model: ir.Model, stacks: Mapping[ir.Node, Stack], weights: Iterable[str], classes: Any
) -> None:
    """Make a function of each call of a submodule; the innermost first.

    Args:
        stacks: the module calls each node is in.
        weights: the names of the initializers that functions are given.
        classes: True for every module, else the classes (or their full names), or a dict from them
            to the domain and name of the function, or True.
    """
    chosen: dict[str, tuple[str, str] | None] | None = None
    if classes is not True:
        names_by_class = classes if isinstance(classes, Mapping) else dict.fromkeys(classes, True)
        chosen = {
            c if isinstance(c, str) else _class_name(c): function_name(name)
            for c, name in names_by_class.items()
        }
    outliner = Outliner(model, weights)
    stack_by_node = {node: stack for node, stack in stacks.items() if node.graph is model.graph}
    for depth in range(max((len(s) for s in stack_by_node.values()), default=0), 1, -1):
        groups: dict[Any, list[ir.Node]] = {}
        for node, stack in stack_by_node.items():
            if len(stack) >= depth:
                groups.setdefault(stack[:depth], []).append(node)
        for stack, nodes in groups.items():
            kind = stack[-1][2].split("@")[0]
            if chosen is not None and kind not in chosen:
                continue
            domain, _, name = kind.rpartition(".")
            domain, name = (chosen or {}).get(kind) or (domain, name)
            call = outliner.outline(Group(domain or "module", name, tuple(nodes)))
            if call is not None:
                for node in nodes:
                    del stack_by_node[node]
                call.metadata_props["namespace"] = stack[-1][1]
                stack_by_node[call] = stack[:-1]
    model.graph.sort()


def _class_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def outline_operators(
    model: ir.Model, sources: Mapping[ir.Node, tuple[str, str]], weights: Iterable[str]
) -> None:
    """Make a function of the nodes of each ATen operator.

    Args:
        sources: for each node, the FX node it comes from and the full name of its operator.
        weights: the names of the initializers that functions are given.
    """
    outliner = Outliner(model, weights)
    groups: dict[tuple[str, str], list[ir.Node]] = {}
    for node, source in sources.items():
        if node.graph is model.graph:
            groups.setdefault(source, []).append(node)
    for (_, operator), nodes in groups.items():
        namespace, _, name = operator.partition("::")
        outliner.outline(Group(f"pkg.torch.{namespace}", name.replace(".", "_"), tuple(nodes)))
    model.graph.sort()
