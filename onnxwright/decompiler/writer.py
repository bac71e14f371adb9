"""One node as an expression, and the metadata that is kept beside the text."""

from __future__ import annotations

import onnx

from onnxwright.compare.equality import attribute_kind
from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue
from onnxwright.decompiler.arrays import type_expression
from onnxwright.decompiler.attributes import plain_value, value_expression
from onnxwright.decompiler.graph_metadata import Facts
from onnxwright.decompiler.layout import WIDTH, Expr, Group, data, join, listed, text
from onnxwright.decompiler.module_contents import Module
from onnxwright.decompiler.names import Names, is_plain
from onnxwright.decompiler.pieces import Piece, binary, number_piece, subscript, unary
from onnxwright.decompiler.places import Places, origin_of
from onnxwright.decompiler.planning import Plan
from onnxwright.ir.builder import ORIGIN
from onnxwright.types.kinds import AttrKind

_A = onnx.AttributeProto


class Writer:
    """Writes the nodes of one function: the main graph of a model, or an ONNX function."""

    def __init__(
        self,
        graph: ProtoGraph,
        module: Module,
        opsets: dict[str, int],
        attributes: dict[str, str],
        names: Names,
    ) -> None:
        self.graph = graph
        self.module = module
        self.opsets = opsets
        self.attributes = attributes  # ONNX name of an attribute parameter -> Python name
        self.attribute_kinds: dict[str, int] = {}  # and the kind that it is annotated with
        self.names = module.scope = names
        self.places = Places(graph)
        self.facts = Facts(module.uses, self.places)
        self.plan = Plan(graph, module, opsets)
        self.functions: dict[ProtoNode, dict[str, list[str]]] = {}  # Python names of nested graphs
        self.calls: dict[ProtoNode, tuple[str, list[Expr]]] = {}
        self.left: dict[ProtoNode, onnx.NodeProto] = {}  # parts of nodes that no keyword can say
        self.width = WIDTH - 4
        self.kept: dict[
            ProtoValue, str
        ] = {}  # names that results are to have, before they have them
        self.written: set[ProtoNode] = set()
        self.direct: set[ProtoValue] = (
            set()
        )  # results of branches that are made under their final names
        self.bound: list[str] = []  # names in the order of binding

    # -- names -------------------------------------------------------------------------------------

    def name(self, value: ProtoValue) -> str:
        """The Python name of a value."""
        name = self.places.python.get(value)
        if name is None:
            name = self.kept.pop(value, None) or self.names.take(value.name)
            self.places.name(value, name)
        return name

    def input_name(self, value: ProtoValue) -> str:
        """The Python name of an input of the whole function, whose own name counts."""
        python = self.name(value)
        if python != value.name:
            self.facts.names[value] = value.name
        return python

    def keep_annotated(self, proto: onnx.GraphProto, graph: ProtoGraph) -> None:
        """Let values keep their names that quantization annotations name."""
        for note in proto.quantization_annotation:
            named = (note.tensor_name, *(e.value for e in note.quant_parameter_tensor_names))
            for value in filter(None, map(graph.values.get, named)):
                if self.places.python.get(value, value.name) != value.name:
                    self.facts.names[value] = value.name

    # -- metadata ----------------------------------------------------------------------------------

    def typed(self, value: ProtoValue) -> bool:
        """Whether the type of a value is said among the facts, and not in an annotation."""
        return not value.is_output or value.graph is not self.graph

    def add(self, node: ProtoNode) -> None:
        """Record a node, and before it the constants that it reads."""
        for value in node.inputs:
            self.constant(value)
        self.places.add(node)
        self.node_facts(node)

    def constant(self, value: ProtoValue | None) -> None:
        """Note a constant that is written as a number, where it is first read."""
        producer = value.producer if value is not None else None
        if producer is None or producer not in self.plan.numbers or producer in self.written:
            return
        self.written.add(producer)
        self.places.add(producer)
        self.node_facts(producer)
        for output in producer.outputs:
            if output is not None:
                self.facts.value(output, output.info)

    # -- expressions -------------------------------------------------------------------------------

    def argument(
        self, value: ProtoValue | None, merged: dict[ProtoValue, Piece], number: str | None
    ) -> Piece:
        """One operand or argument."""
        if number is not None:
            return number_piece(number)
        if value is None:
            return Piece("None")
        piece = merged.get(value)
        return piece if piece is not None else Piece(self.name(value))

    def piece(self, node: ProtoNode, merged: dict[ProtoValue, Piece]) -> Piece:
        """A node as an expression."""
        index = self.plan.indices.get(node)
        if index is not None:
            return subscript(self.argument(node.inputs[0], merged, None), index)
        arguments = [
            self.argument(w, merged, self.plan.literals.get((node, n)))
            for n, w in enumerate(node.inputs)
        ]
        symbol = self.plan.symbols.get(node)
        if symbol is not None and len(arguments) == 1:
            return unary(symbol, arguments[0])
        if symbol is not None:
            return binary(symbol, arguments[0], arguments[1])
        expr = self.call(node, [a.expr for a in arguments])
        return Piece(expr, depth=1 + max((a.depth for a in arguments), default=0))

    def call(self, node: ProtoNode, arguments: list[Expr]) -> Expr:
        """The call of a node."""
        function, items = self.calls.get(node) or self.calls.setdefault(node, self.keywords(node))
        return Group(f"{function}(", (*arguments, *items), ")")

    def keywords(self, node: ProtoNode) -> tuple[str, list[Expr]]:
        """What a node calls, and its attributes as keywords."""
        function_name = self.module.function_name(node.key)
        signature = (
            None if function_name is not None else self.module.signature(node.key, self.opsets)
        )
        keywords: list[tuple[str, Expr]] = []
        left: list[onnx.AttributeProto] = []
        renamed = self.module.attributes.get(node.key, {})
        for attr in node.proto.attribute:
            name = renamed.get(attr.name, attr.name)
            hidden = name in ("_outputs", "_name")
            hidden = hidden or (attr.name not in renamed and name in renamed.values())
            value = None if hidden else self.attribute(node, attr, signature)
            if value is None:
                left.append(attr)
            else:
                keywords.append((name, value))
        if left:
            kept = self.left[node] = onnx.NodeProto()
            kept.attribute.extend(left)
        count = len(node.outputs)
        usual = 1 if function_name is None else self.module.output_count(node.key)
        if (
            count == 0
            or (count == 1 and usual != 1)
            or (function_name is not None and count != usual)
        ):
            keywords.append(("_outputs", str(count)))
        plain = [(k, v) for k, v in keywords if is_plain(k)]
        odd = [(k, v) for k, v in keywords if not is_plain(k)]
        items = [join(f"{k}=", v) for k, v in plain]
        if odd:
            pairs = tuple(join(f"{text(k)}: ", v) for k, v in odd)
            items.append(Group("**{", pairs, "}"))
        return function_name or self.module.operator(node.key, self.opsets), items

    def attribute(
        self, node: ProtoNode, attr: onnx.AttributeProto, signature: object
    ) -> Expr | None:
        """The value of an attribute as Python; None where it can only be kept serialized."""
        if attr.ref_attr_name:
            kind = self.attribute_kinds.get(attr.ref_attr_name, attr.type)
            if attr.doc_string or kind != attr.type:
                return None
            return self.attributes.get(attr.ref_attr_name)
        kind = attribute_kind(attr)
        if kind in (_A.GRAPH, _A.GRAPHS):
            graphs = self.functions.get(node, {}).get(attr.name)
            if not graphs:
                return None
            return graphs[0] if kind == _A.GRAPH else listed(graphs)
        if kind == _A.TYPE_PROTO:
            param = getattr(signature, "attributes", {}).get(attr.name)
            if param is None or param.kind is not AttrKind.TYPE_PROTO or attr.doc_string:
                return None
            return type_expression(attr.tp, self.module.uses)
        value = plain_value(attr, signature)  # type: ignore[arg-type]
        if value is None:
            return None
        if kind == _A.TENSOR:
            first = node.outputs[0] if node.outputs else None
            python_name = self.places.python.get(first) if first is not None else None
            if python_name is None and first is not None and node.key[1] == "Constant":
                python_name = self.name(first)
            hint = f"{python_name or node.key[1].lower()}_data"
            return self.module.array(value, hint, attr.t, inline=True)
        if _uses_numpy(attr):
            self.module.uses.add("np")
        return value_expression(value, kind)

    # -- facts -------------------------------------------------------------------------------------

    def outer_facts(self, graph: ProtoGraph) -> None:
        """What a graph says of results that are made elsewhere."""
        for value in graph.outputs:
            if value.producer is None or value.graph is not graph:
                self.facts.value(value, value.info)

    def graph_facts(self, graph: ProtoGraph, usual: str) -> None:
        """Note what a nested proto says beside its computation."""
        proto = graph.proto
        assert isinstance(proto, onnx.GraphProto)
        more: dict[str, Expr] = {}
        if proto.name != usual:
            more["name"] = text(proto.name)
        self.keep_annotated(proto, graph)
        extra = rest_of_graph(proto, graph)
        if extra:
            more["extra"] = data(extra)
        described = self.facts.described(proto, more)
        if described is not None:
            self.facts.graphs[graph] = described

    def extra_of(self, node: ProtoNode) -> bytes:
        """What no call and no other fact says of a node, serialized; mostly nothing."""
        proto, rest = node.proto, self.left.pop(node, None)
        unnamed = proto.overload and self.module.function_name(node.key) is None
        if rest is None:
            if not proto.device_configurations and not unnamed:
                return b""
            rest = onnx.NodeProto()
        rest.device_configurations.extend(proto.device_configurations)
        if unnamed:
            rest.overload = proto.overload
        return bytes(rest.SerializeToString(deterministic=True))

    def node_facts(self, node: ProtoNode) -> None:
        """Note the name, doc string and metadata of a node."""
        proto = node.proto
        extra = self.extra_of(node)
        without = ORIGIN if origin_of(node) is not None else None
        more: dict[str, Expr] = {"extra": data(extra)} if extra else {}
        described = self.facts.described(proto, more, without)
        if proto.name:
            self.facts.node_names[node] = proto.name
        if described is not None:
            self.facts.nodes[node] = described


def rest_of_graph(proto: onnx.GraphProto, graph: ProtoGraph) -> bytes:
    """What a graph holds that nothing else says: annotations of quantized values and the like."""
    rest = onnx.GraphProto()
    rest.quantization_annotation.extend(proto.quantization_annotation)
    for info in proto.value_info:
        if info.name not in graph.values:
            rest.value_info.append(info)
    # An input with a value of its own has an initializer of the same name.
    for value in graph.initializers if graph.owner is not None else ():
        if value.input_index is not None and isinstance(value.tensor, onnx.TensorProto):
            rest.initializer.append(value.tensor)
    return bytes(rest.SerializeToString(deterministic=True))


def _uses_numpy(attr: onnx.AttributeProto) -> bool:
    numbers = [attr.f, *attr.floats]
    return any(v != v or v in (float("inf"), float("-inf")) for v in numbers)  # noqa: PLR0124
