"""The body of a graph or function as Python statements: one call for each node, in order.

Names come out unique in the whole function, nested ones included, so that a name says which value
is meant wherever the file speaks of one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import onnx

from onnxwright.decompiler.attributes import plain_value, value_expression
from onnxwright.decompiler.facts import Facts
from onnxwright.decompiler.layout import (
    WIDTH,
    Expr,
    Group,
    data,
    join,
    listed,
    mapping,
    render,
    text,
)
from onnxwright.decompiler.names import Names, is_plain
from onnxwright.decompiler.scope import Module
from onnxwright.ir.content import attribute_kind
from onnxwright.ir.wiring import Scope, Unit, Wire

_A = onnx.AttributeProto


@dataclass
class Written:
    """Statements of a body and what it returns.

    Attributes:
        lines: the statements, not indented.
        result: the Python names of the outputs.
    """

    lines: list[str] = field(default_factory=list)
    result: list[str] = field(default_factory=list)


class Body:
    """Writes one function: the main graph of a model, or an ONNX function."""

    def __init__(
        self, scope: Scope, module: Module, opsets: dict[str, int], attributes: dict[str, str]
    ) -> None:
        self.scope = scope
        self.module = module
        self.opsets = opsets
        self.attributes = attributes  # ONNX name of an attribute parameter -> Python name
        self.names = Names(module.names)
        self.names.reserve(*attributes.values())
        self.python: dict[Wire, str] = {}
        self.facts = Facts(module.uses)
        self.functions: dict[Unit, dict[str, list[str]]] = {}  # Python names of nested graphs
        self.left: dict[Unit, onnx.NodeProto] = {}  # parts of nodes that no keyword can say
        self.width = WIDTH - 4
        self.symbols: dict[Unit, str] = {}
        self.indices: dict[Unit, str] = {}
        self.branches: set[Unit] = set()
        self.keys: dict[Wire, str] = {}  # names for facts, where one Python name has two values
        self.literals: dict[tuple[Unit, int], str] = {}
        self.inlined: set[Unit] = set()

    # -- names -------------------------------------------------------------------------------------

    def name(self, wire: Wire) -> str:
        """The Python name of a value."""
        found = self.python.get(wire)
        if found is None:
            found = self.python[wire] = self.names.take(wire.name)
        return found

    def input_name(self, wire: Wire) -> str:
        """The Python name of an input or output of the whole function, whose own name counts."""
        python = self.name(wire)
        if python != wire.name:
            self.facts.names[python] = wire.name
        return python

    # -- statements --------------------------------------------------------------------------------

    def write(self) -> Written:
        """The statements of the outermost body."""
        for wire in self.scope.outputs:
            self.input_name(wire)
        return self._write(self.scope)

    def _write(self, scope: Scope) -> Written:
        written = Written()
        units = ordered(scope.units)
        for unit in units:
            self.plan(unit)
        for unit in units:
            if unit not in self.inlined:
                self.unit(unit, written.lines)
        written.result = [self.name(w) for w in scope.outputs]
        return written

    def plan(self, unit: Unit) -> None:
        """Decide what of a node is written with operators and numbers."""
        module = self.module
        module.count += 1
        mine = module.count
        if not module.sugar.allows(mine):
            return
        sugared = False
        if module.function_name(unit.key) is None:
            signature = module.signature(unit.key, self.opsets)
            index = module.sugar.subscript(unit) if signature is not None else None
            if index is not None:
                self.indices[unit] = index
                self.inlined.update(
                    w.producer for w in unit.inputs[1:] if w is not None and w.producer is not None
                )
                sugared = True
            if module.sugar.branch(unit):
                self.branches.add(unit)
                sugared = True
            plain = index is None and unit not in self.branches
            for place, w in enumerate(unit.inputs if plain else ()):
                made = module.sugar.literal(w, unit, place, signature)
                if made is not None and w is not None and w.producer is not None:
                    self.literals[unit, place] = made
                    self.inlined.add(w.producer)
                    sugared = True
            symbol = module.sugar.operator(unit) if signature is not None else None
            if symbol is not None and len(self.literals.keys() & {(unit, 0), (unit, 1)}) < 2:
                self.symbols[unit] = symbol
                sugared = True
        if sugared:
            module.sugar.used.append(mine)

    def unit(self, unit: Unit, lines: list[str]) -> None:
        """The statements of one node: nested functions for its graphs, then the call."""
        if unit in self.branches:
            self.branch(unit, lines)
            return
        lines.extend(self.nested(unit))
        targets = [self._target(w) for w in unit.outputs]
        expression = self.call(unit)
        lines.append(assignment(targets, expression, self.width))
        self.node_facts(unit, [self.keys.get(w, t) if w else t
                               for w, t in zip(unit.outputs, targets, strict=True)])  # fmt: skip

    def _target(self, wire: Wire | None) -> str:
        if wire is None:
            python = self.names.take("absent")
            self.facts.absent.append(python)
            return python
        python = self.name(wire)
        self.facts.value(
            self.keys.get(wire, python),
            wire.info,
            typed=not wire.is_output or wire.scope is not self.scope,
        )
        return python

    def call(self, unit: Unit) -> Expr:
        """The call of a node."""
        known = self.module.function_name(unit.key)
        signature = None if known is not None else self.module.signature(unit.key, self.opsets)
        arguments: list[Expr] = [
            self.literals.get((unit, n)) or ("None" if w is None else self.name(w))
            for n, w in enumerate(unit.inputs)
        ]
        if unit in self.indices:
            return f"{arguments[0]}[{self.indices[unit]}]"
        symbol = self.symbols.get(unit)
        if symbol is not None and len(arguments) == 1:
            return f"{symbol}{arguments[0]}"
        if symbol is not None:
            space = "" if symbol == "**" else " "
            return f"{arguments[0]}{space}{symbol}{space}{arguments[1]}"
        keywords: list[tuple[str, Expr]] = []
        left: list[onnx.AttributeProto] = []
        for attr in unit.proto.attribute:
            value = self.attribute(unit, attr, signature)
            if value is None:
                left.append(attr)
            else:
                keywords.append((attr.name, value))
        if left:
            self._leave(unit, left)
        count = len(unit.outputs)
        usual = 1 if known is None else self.module.output_count(unit.key)
        if count == 0 or (count == 1 and usual != 1) or (known is not None and count != usual):
            keywords.append(("_outputs", str(count)))
        plain = [(k, v) for k, v in keywords if is_plain(k)]
        odd = [(k, v) for k, v in keywords if not is_plain(k)]
        items = [*arguments, *(join(f"{k}=", v) for k, v in plain)]
        if odd:
            pairs = tuple(join(f"{text(k)}: ", v) for k, v in odd)
            items.append(Group("**{", pairs, "}"))
        function = known or self.module.operator(unit.key, self.opsets)
        return Group(f"{function}(", tuple(items), ")")

    def attribute(self, unit: Unit, attr: onnx.AttributeProto, signature: object) -> Expr | None:
        """The value of an attribute as Python; None where it can only be kept serialized."""
        if attr.name in ("_outputs", "_name"):
            return None
        if attr.ref_attr_name:
            return self.attributes.get(attr.ref_attr_name) if not attr.doc_string else None
        kind = attribute_kind(attr)
        if kind == _A.GRAPH:
            return self.functions[unit][attr.name][0]
        if kind == _A.GRAPHS:
            return listed(self.functions[unit][attr.name])
        value = plain_value(attr, signature)  # type: ignore[arg-type]
        if value is None:
            return None
        if kind == _A.TENSOR:
            first = unit.outputs[0] if unit.outputs else None
            hint = f"{self.name(first) if first is not None else 'constant'}_data"
            return self.module.array(value, hint, attr.t, inline=True)
        if _uses_numpy(attr):
            self.module.uses.add("np")
        return value_expression(value, kind)

    def _leave(self, unit: Unit, attributes: Iterable[onnx.AttributeProto]) -> None:
        kept = onnx.NodeProto()
        kept.attribute.extend(attributes)
        self.left[unit] = kept

    # -- branches --------------------------------------------------------------------------------

    def branch(self, unit: Unit, lines: list[str]) -> None:
        """An If as `if` and `else`."""
        targets = [self._target(w) for w in unit.outputs]
        sides = [unit.graphs["then_branch"][0], unit.graphs["else_branch"][0]]
        assert unit.inputs[0] is not None
        self.width -= 4
        bodies = [
            self._side(scope, targets, word)
            for scope, word in zip(sides, ("then", "else"), strict=True)
        ]
        self.width += 4
        head = f"if {self.name(unit.inputs[0])}:"
        lines += [head, *indented(bodies[0]), "else:", *indented(bodies[1])]
        self.node_facts(unit, targets)

    def _side(self, scope: Scope, targets: list[str], word: str) -> list[str]:
        """One side of an If; its results are bound to the names of the If's outputs."""
        direct = len(targets) == 1 and self._own(scope, scope.outputs[0])
        if direct:
            self.python[scope.outputs[0]] = targets[0]
            self.keys[scope.outputs[0]] = f"{targets[0]}.{word}"
        written = self._write(scope)
        for wire in scope.outputs:
            if wire.producer is None or wire.scope is not scope:
                self.facts.value(self.name(wire), wire.info)
        graph = scope.proto
        if graph.name != f"{word}_branch":
            self.facts.graphs[f"{targets[0]}.{word}"] = mapping([("name", text(graph.name))])
        if not direct:
            made = zip(targets, written.result, strict=True)
            written.lines += [f"{target} = {name}" for target, name in made]
        return written.lines

    def _own(self, scope: Scope, wire: Wire) -> bool:
        """Whether a result is made by a node of this side that is no branch itself."""
        return (
            wire.producer is not None
            and wire.scope is scope
            and not (wire.producer.graphs or wire in self.python)
        )

    # -- nested graphs -----------------------------------------------------------------------------

    def nested(self, unit: Unit) -> list[str]:
        """A nested function for each graph of a node."""
        lines: list[str] = []
        held = self.functions.setdefault(unit, {})
        for attribute, scopes in unit.graphs.items():
            for scope in scopes:
                python = self.names.take(scope.proto.name or attribute, "body")
                held.setdefault(attribute, []).append(python)
                lines += self._nested(scope, python)
        return lines

    def _nested(self, scope: Scope, python: str) -> list[str]:
        graph = scope.proto
        assert isinstance(graph, onnx.GraphProto)
        params = [self._parameter(w) for w in scope.inputs]
        body: list[str] = []
        around, self.width = self.width, self.width - 4
        for wire in scope.initializers:
            if wire.input_index is None:
                self._local_initializer(wire, body)
        written = self._write(scope)
        body += written.lines
        for wire in scope.outputs:
            if wire.producer is None or wire.scope is not scope:
                self.facts.value(self.name(wire), wire.info)
        body.append(returned(written.result))
        more: dict[str, Expr] = {}
        if graph.name != python:
            more["name"] = text(graph.name)
        extra = rest_of_graph(graph, scope)
        if extra:
            more["extra"] = data(extra)
        described = self.facts.described(graph, **more)
        if described is not None:
            self.facts.graphs[python] = described
        head = Group(f"def {python}(", tuple(params), "):")
        self.width = around
        return ["", *render(head, 0, 0, around).split("\n"), *indented(body), ""]

    def _parameter(self, wire: Wire) -> str:
        python = self.name(wire)
        self.facts.value(python, wire.info)
        return python

    def _local_initializer(self, wire: Wire, body: list[str]) -> None:
        self.module.uses.add("initializer")
        python = self.name(wire)
        self.facts.value(python, wire.info)
        body.append(assignment([python], self.module.initializer(wire, python), self.width))

    # -- facts -------------------------------------------------------------------------------------

    def node_facts(self, unit: Unit, targets: list[str]) -> None:
        """Note the name, doc string and metadata of a node."""
        node = unit.proto
        rest = self.left.pop(unit, onnx.NodeProto())
        rest.device_configurations.extend(node.device_configurations)
        if node.overload and self.module.function_name(unit.key) is None:
            rest.overload = node.overload
        extra = rest.SerializeToString(deterministic=True)
        described = self.facts.described(node, **({"extra": data(extra)} if extra else {}))
        if not targets:
            if described is not None:
                self.module.reasons.append(f"{node.op_type} makes nothing: what it says is lost")
            return
        if node.name:
            self.facts.node_names[targets[0]] = node.name
        if described is not None:
            self.facts.nodes[targets[0]] = described


def rest_of_graph(graph: onnx.GraphProto, scope: Scope) -> bytes:
    """What a graph holds that nothing else says: annotations of quantized values and the like."""
    rest = onnx.GraphProto()
    rest.quantization_annotation.extend(graph.quantization_annotation)
    for info in graph.value_info:
        if info.name not in scope.wires:
            rest.value_info.append(info)
    # An input with a value of its own has an initializer of the same name.
    for wire in scope.initializers if scope.owner is not None else ():
        if wire.input_index is not None and isinstance(wire.tensor, onnx.TensorProto):
            rest.initializer.append(wire.tensor)
    return bytes(rest.SerializeToString(deterministic=True))


def ordered(units: list[Unit]) -> list[Unit]:
    """Nodes in an order in which each is made before it is read; as they stand if that holds."""
    place = {unit: n for n, unit in enumerate(units)}
    done: set[Unit] = set()
    result: list[Unit] = []
    for unit in units:
        stack = [unit]
        while stack:
            current = stack[-1]
            waiting = [u for u in _sources(current, place) if u not in done and u is not current]
            if current in done or not waiting:
                stack.pop()
                if current not in done:
                    done.add(current)
                    result.append(current)
            elif any(u in stack for u in waiting):
                return units  # a circle: no order is right
            else:
                stack.extend(reversed(waiting))
    return result


def _sources(unit: Unit, place: dict[Unit, int]) -> list[Unit]:
    """The nodes of the same graph that a node and its graphs read."""
    wires = [w for w in unit.inputs if w is not None]
    for scopes in unit.graphs.values():
        for scope in scopes:
            for inner in scope.all_scopes():
                wires += inner.outputs
                for node in inner.units:
                    wires += [w for w in node.inputs if w is not None]
    return [w.producer for w in wires if w.producer is not None and w.producer in place]


def assignment(targets: list[str], expression: Expr, width: int) -> str:
    """`a, b = expression`, or the expression alone, in lines of `width` columns."""
    if not targets:
        return render(expression, 0, 0, width)
    front = f"{', '.join(targets)} = "
    if len(front) > width - 4:
        front = "(\n    " + ",\n    ".join(targets) + ",\n) = "
        return front + render(expression, 4, 0, width)
    if isinstance(expression, str) and len(front) + len(expression) > width:
        return f"{front}(\n    {expression}\n)"
    return front + render(expression, len(front), 0, width)


def returned(result: list[str]) -> str:
    """The return statement."""
    if not result:
        return "return ()"
    line = f"return {', '.join(result)}"
    if len(line) <= 90:
        return line
    return "return (\n" + "".join(f"    {name},\n" for name in result) + ")"


def indented(lines: Iterable[str]) -> list[str]:
    """Lines one level deeper, with one empty line at most between two, none at the start."""
    made: list[str] = []
    for line in lines:
        for part in line.split("\n"):
            if part or (made and made[-1]):
                made.append(f"    {part}" if part else part)
    return made


def _uses_numpy(attr: onnx.AttributeProto) -> bool:
    numbers = [attr.f, *attr.floats]
    return any(v != v or v in (float("inf"), float("-inf")) for v in numbers)  # noqa: PLR0124


__all__ = ["Body", "Written", "assignment", "indented", "ordered", "rest_of_graph", "returned"]
