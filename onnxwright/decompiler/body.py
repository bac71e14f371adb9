"""The body of a graph or function as Python statements, nodes in the order they have.

Names come out unique in the whole function, nested ones included, so that a name says which value
is meant wherever the file speaks of one; only what a loop carries keeps its name from turn to turn.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
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
    flatten,
    join,
    listed,
    render,
    text,
)
from onnxwright.decompiler.names import Names, is_plain, machine_made
from onnxwright.decompiler.pieces import Piece, binary, number_piece, subscript, unary
from onnxwright.decompiler.places import Places, origin_of
from onnxwright.decompiler.planning import Plan, ordered
from onnxwright.decompiler.scope import Module
from onnxwright.ir.builder import ORIGIN
from onnxwright.ir.content import attribute_kind
from onnxwright.ir.wiring import Scope, Unit, Wire

_A = onnx.AttributeProto
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
# What stands in one expression: operators in one another, columns, and columns of a whole call.
_DEEPEST, _LONGEST, _LINE = 3, 88, 12


@dataclass
class Written:
    """Statements of a block.

    Attributes:
        lines: the statements, not indented.
        pending: expressions that are made but do not stand anywhere yet, in the order of making.
    """

    lines: list[str] = field(default_factory=list)
    pending: list[tuple[Wire, Piece]] = field(default_factory=list)


class Body(ABC):
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
        self.places = Places(scope)
        self.facts = Facts(module.uses, self.places)
        self.plan = Plan(scope, module, opsets)
        self.functions: dict[Unit, dict[str, list[str]]] = {}  # Python names of nested graphs
        self.calls: dict[Unit, tuple[str, list[Expr]]] = {}
        self.left: dict[Unit, onnx.NodeProto] = {}  # parts of nodes that no keyword can say
        self.width = WIDTH - 4
        self.kept: dict[Wire, str] = {}  # names that results are to have, before they have them
        self.written: set[Unit] = set()
        self.direct: set[Wire] = set()  # results of branches that are made under their final names
        self.bound: list[str] = []  # names in the order of binding

    # -- names -------------------------------------------------------------------------------------

    def name(self, wire: Wire) -> str:
        """The Python name of a value."""
        found = self.places.python.get(wire)
        if found is None:
            found = self.kept.pop(wire, None) or self.names.take(wire.name)
            self.places.name(wire, found)
        return found

    def input_name(self, wire: Wire) -> str:
        """The Python name of an input of the whole function, whose own name counts."""
        python = self.name(wire)
        if python != wire.name:
            self.facts.names[wire] = wire.name
        return python

    # -- statements --------------------------------------------------------------------------------

    def write(self) -> list[str]:
        """The statements of the outermost body, its `return` among them."""
        for wire in self.scope.outputs:
            if wire not in self.places.python and wire not in self.kept:
                made = wire.producer
                if wire.scope is not None and not (made and self.nameless(made, wire)):
                    self.kept[wire] = self.names.take(wire.name)
        self.facts.shared, self.facts.copies = self.plan.shared, self.plan.copies
        lines = self.returning(self.scope)
        self.places.finish()
        usual = usual_outputs(len(set(self.scope.outputs)))
        for n, wire in enumerate(dict.fromkeys(self.scope.outputs)):
            python = self.places.named(wire)
            taken = python is None and usual[n] in self.places.owner
            if taken or (usual[n] if python is None else python) != wire.name:
                self.facts.names[wire] = wire.name
        return lines

    def returning(self, scope: Scope) -> list[str]:
        """The statements of a function's body."""
        written = self.block(scope)
        return [*written.lines, returned(self.results(scope, written), self.width)]

    def results(self, scope: Scope, written: Written) -> list[str]:
        """What a function returns; the last expressions stand there where they may."""
        wires = self.plan.results(scope)
        merged = self.merged(wires, written, lambda _: True)
        shown = [merged[w].text if w in merged else self.name(w) for w in wires]
        for wire in scope.outputs:
            if wire in self.plan.sources:
                self.copy(wire)
        return shown

    def copy(self, wire: Wire) -> None:
        """Note a copy that is made where a graph ends."""
        assert wire.producer is not None
        self.places.made(wire.producer)
        self.node_facts(wire.producer)
        self.facts.value(wire, wire.info, typed=self.typed(wire))

    def block(self, scope: Scope) -> Written:
        """The statements of a graph."""
        written = Written()
        for unit in self.plan.order[scope]:
            if unit not in self.plan.inlined:
                self.unit(unit, written)
        return written

    def unit(self, unit: Unit, written: Written) -> None:
        """One node: an expression that waits for its place, or statements."""
        if unit in self.plan.branches:
            self.branch(unit, written)
        elif unit in self.plan.loops:
            self.loop(unit, written)
        elif unit.graphs or len(unit.outputs) != 1 or unit.outputs[0] is None:
            self.statement(unit, written)
        else:
            self.expression(unit, unit.outputs[0], written)
        self.written.add(unit)

    @abstractmethod
    def loop(self, unit: Unit, written: Written) -> None:
        """A Loop as `for` or `while`."""

    def expression(self, unit: Unit, made: Wire, written: Written) -> None:
        """A node of one result."""
        # NOTE: names of the model are not looked at: the same text is to come of the next one.
        room = min(self.width, _LONGEST) - (_LINE if self.waits(unit, made) else _LINE + 8)

        def fits(pieces: dict[Wire, Piece]) -> bool:
            piece = self.piece(unit, pieces)
            return piece.depth <= _DEEPEST and len(piece.text) <= room

        wires = [w for w in unit.inputs if w is not None]
        merged = self.merged(wires, written, fits)
        piece = self.piece(unit, merged)
        self.made(unit)
        if self.waits(unit, made):
            written.pending.append((made, piece))
        else:
            self.flush(written)
            self.assign(made, piece, written)
        self.facts.value(made, made.info, typed=self.typed(made))

    def waits(self, unit: Unit, made: Wire) -> bool:
        """Whether a value may stand in the expression that reads it."""
        if not self.module.sugar.on or made in self.kept or made in self.places.python:
            return False
        key = unit.key
        if key == ("", "Constant", "") or len(unit.proto.attribute) > 3:
            return False
        if made.is_output:
            whole = self.plan.returns.get(made, False)
            return whole and not made.uses and self.nameless(unit, made)
        if len(made.uses) != 1:
            return False
        user, place = made.uses[0]
        if user.scope is not made.scope or not self.nameless(unit, made):
            return False
        if user in self.plan.loops:
            return place == 0
        if user in self.plan.branches:
            return place == 0
        return not user.graphs and self.module.sugar.allows(self.plan.number.get(user, 0))

    def nameless(self, unit: Unit, made: Wire) -> bool:
        """Whether a value's name says nothing."""
        top = made.is_output and made.scope is self.scope
        if top and made.name in usual_outputs(len(self.scope.outputs)):
            return True
        return machine_made(made.name, unit.proto.op_type)

    def merged(self, wires: list[Wire], written: Written, fits: object) -> dict[Wire, Piece]:
        """Waiting expressions that may stand where `wires` are read; others get names.

        Nodes stay in order: only the newest expressions may stand there, and in their own order.
        """
        waiting = [w for w, _ in written.pending]
        wanted = [w for w in dict.fromkeys(wires) if w in waiting]
        count = len(wanted)
        while count and waiting[-count:] != wanted[-count:]:
            count -= 1
        top = written.pending[len(waiting) - count :] if count else []
        pieces = dict(top)
        if pieces and not fits(pieces):  # type: ignore[operator]
            pieces = {}
        if len(pieces) < len(wanted):
            last = max(n for n, w in enumerate(waiting) if w in wanted and w not in pieces)
            self.flush(written, last + 1)
        if pieces:
            del written.pending[len(written.pending) - len(pieces) :]
        return pieces

    def flush(self, written: Written, count: int | None = None) -> None:
        """Give names to waiting expressions, oldest first."""
        found = written.pending[:count]
        del written.pending[:count]
        for wire, piece in found:
            self.assign(wire, piece, written)

    def assign(self, wire: Wire, piece: Piece, written: Written) -> None:
        """Bind a value's name to its expression."""
        name = self.name(wire)
        self.bound.append(name)
        written.lines.append(assignment([name], piece.expr, self.width))

    def statement(self, unit: Unit, written: Written) -> None:
        """A node of several results, or with graphs: nested functions, then the call."""
        fits = lambda pieces: len(self.piece(unit, pieces).text) <= _LONGEST - 16  # noqa: E731
        if unit.graphs:
            self.flush(written)
            written.lines.extend(self.nested(unit))
        merged = self.merged([w for w in unit.inputs if w is not None], written, fits)
        self.flush(written)
        targets = [self.target(unit, w) for w in unit.outputs]
        piece = self.piece(unit, merged)
        self.bound.extend(targets)
        written.lines.append(assignment(targets, piece.expr, self.width))
        self.made(unit)

    def target(self, unit: Unit, wire: Wire | None) -> str:
        """The name an output of a node is bound to."""
        if wire is None:
            python = self.names.take("absent")
            self.facts.absent.append(python)
            if unit.outputs[0] is None:
                self.places.first.setdefault(unit, python)
            return python
        python = self.name(wire)
        self.facts.value(wire, wire.info, typed=self.typed(wire))
        return python

    def typed(self, wire: Wire) -> bool:
        """Whether the type of a value is said among the facts, and not in an annotation."""
        return not wire.is_output or wire.scope is not self.scope

    def made(self, unit: Unit) -> None:
        """Note a node, and before it the constants it makes."""
        for wire in unit.inputs:
            self.constant(wire)
        self.places.made(unit)
        self.node_facts(unit)

    def constant(self, wire: Wire | None) -> None:
        """Note a constant that is written as a number, where it is first read."""
        producer = wire.producer if wire is not None else None
        if producer is None or producer not in self.plan.numbers or producer in self.written:
            return
        self.written.add(producer)
        self.places.made(producer)
        self.node_facts(producer)
        for made in producer.outputs:
            if made is not None:
                self.facts.value(made, made.info)

    # -- expressions -------------------------------------------------------------------------------

    def argument(self, wire: Wire | None, merged: dict[Wire, Piece], number: str | None) -> Piece:
        """One operand or argument."""
        if number is not None:
            return number_piece(number)
        if wire is None:
            return Piece("None")
        found = merged.get(wire)
        return found if found is not None else Piece(self.name(wire))

    def piece(self, unit: Unit, merged: dict[Wire, Piece]) -> Piece:
        """A node as an expression."""
        index = self.plan.indices.get(unit)
        if index is not None:
            return subscript(self.argument(unit.inputs[0], merged, None), index)
        arguments = [
            self.argument(w, merged, self.plan.literals.get((unit, n)))
            for n, w in enumerate(unit.inputs)
        ]
        symbol = self.plan.symbols.get(unit)
        if symbol is not None and len(arguments) == 1:
            return unary(symbol, arguments[0])
        if symbol is not None:
            return binary(symbol, arguments[0], arguments[1])
        expr = self.call(unit, [a.expr for a in arguments])
        return Piece(expr, depth=1 + max((a.depth for a in arguments), default=0))

    def call(self, unit: Unit, arguments: list[Expr]) -> Expr:
        """The call of a node."""
        function, items = self.calls.get(unit) or self.calls.setdefault(unit, self.keywords(unit))
        return Group(f"{function}(", (*arguments, *items), ")")

    def keywords(self, unit: Unit) -> tuple[str, list[Expr]]:
        """What a node calls, and its attributes as keywords."""
        known = self.module.function_name(unit.key)
        signature = None if known is not None else self.module.signature(unit.key, self.opsets)
        keywords: list[tuple[str, Expr]] = []
        left: list[onnx.AttributeProto] = []
        for attr in unit.proto.attribute:
            value = self.attribute(unit, attr, signature)
            if value is None:
                left.append(attr)
            else:
                keywords.append((attr.name, value))
        if left:
            kept = self.left[unit] = onnx.NodeProto()
            kept.attribute.extend(left)
        count = len(unit.outputs)
        usual = 1 if known is None else self.module.output_count(unit.key)
        if count == 0 or (count == 1 and usual != 1) or (known is not None and count != usual):
            keywords.append(("_outputs", str(count)))
        plain = [(k, v) for k, v in keywords if is_plain(k)]
        odd = [(k, v) for k, v in keywords if not is_plain(k)]
        items = [join(f"{k}=", v) for k, v in plain]
        if odd:
            pairs = tuple(join(f"{text(k)}: ", v) for k, v in odd)
            items.append(Group("**{", pairs, "}"))
        return known or self.module.operator(unit.key, self.opsets), items

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
            known = self.places.python.get(first) if first is not None else None
            if known is None and first is not None and unit.key[1] == "Constant":
                known = self.name(first)
            hint = f"{known or unit.key[1].lower()}_data"
            return self.module.array(value, hint, attr.t, inline=True)
        if _uses_numpy(attr):
            self.module.uses.add("np")
        return value_expression(value, kind)

    # -- branches --------------------------------------------------------------------------------

    def branch(self, unit: Unit, written: Written) -> None:
        """An If as `if` and `else`."""
        test = unit.inputs[0]
        assert test is not None
        short = lambda pieces: len(pieces[test].text) <= _LONGEST - 4  # noqa: E731
        merged = self.merged([test], written, short)
        self.flush(written)
        head = merged[test].text if test in merged else self.name(test)
        targets = [self.target(unit, w) for w in unit.outputs]
        self.width -= 4
        lines = []
        for name in ("then_branch", "else_branch"):
            scope = unit.graphs[name][0]
            self.places.attribute[scope] = name
            lines.append(indented(self.side(scope, targets, first=name == "then_branch")))
            self.graph_facts(scope, name)
        self.width += 4
        written.lines += [f"if {head}:", *(lines[0] or ["    pass"])]
        if lines[1]:
            written.lines += ["else:", *lines[1]]
        self.bound.extend(targets)
        self.made(unit)

    def side(self, scope: Scope, targets: list[str], *, first: bool) -> list[str]:
        """One side of an If; its results are bound to the names of the If's outputs.

        They are bound in the order of the outputs: compiling takes that order from the text.
        """
        results = self.plan.results(scope)
        order, place = self.plan.order[scope], -1
        for target, result in zip(targets, results, strict=True):
            made = result.producer
            plain = not result.uses or (made is not None and self.nameless(made, result))
            if result in self.places.python or not plain or result in self.plan.ends:
                break
            if not self.may_bind(scope, result, target) or order.index(made) < place:  # type: ignore[arg-type]
                break
            place = order.index(made)  # type: ignore[arg-type]
            self.places.hold(result, target)
            self.direct.add(result)
        written = self.block(scope)
        pairs = list(zip(targets, results, strict=True))
        left = [pair for pair in pairs if pair[1] not in self.direct]
        new = [n for n, pair in enumerate(left) if self.unbound([pair])]
        kept = left[: new[-1] + 1 if new else 0] if first else [left[n] for n in new]
        for end in self.bind(kept, written):
            self.constant(end)
        for wire in scope.outputs:
            if wire in self.plan.sources:
                self.copy(wire)
        self.outer_facts(scope)
        return written.lines

    def may_bind(self, scope: Scope, result: Wire, name: str) -> bool:
        """Whether a result may have a name from the node that makes it: nobody reads it after."""
        plan, producer = self.plan, result.producer
        results = plan.results(scope)
        if producer is None or result.scope is not scope or results.count(result) > 1:
            return False
        if producer in plan.inlined or producer in plan.loops:
            return False
        order = plan.order[scope]
        if producer.graphs and producer not in plan.branches:
            return False
        later = set(order[order.index(producer) + 1 :])
        for wire in self.places.holders.get(name, ()):
            if wire in results or any(user in later for user in readers(wire, scope)):
                return False
        return True

    def unbound(self, pairs: list[tuple[str, Wire]]) -> list[tuple[str, Wire]]:
        """Those of names and values where the value does not have the name."""
        return [(name, w) for name, w in pairs if self.places.python.get(w) != name]

    def bind(self, pairs: list[tuple[str, Wire]], written: Written) -> list[Wire]:
        """Bind names to values at the end of a block, all at once where one reads another.

        Returns the constants that are numbers there.
        """
        left = pairs
        merged = self.merged([w for _, w in left], written, lambda p: not _crossed(left, p))
        self.flush(written)
        made = [(n, self.argument(w, merged, self.plan.ends.get(w))) for n, w in left]
        names = {name for name, _ in made}
        if not merged and len(made) > 1 and any(piece.text in names for _, piece in made):
            values = ", ".join(piece.text for _, piece in made)
            written.lines.append(f"{', '.join(n for n, _ in made)} = {values}")
        else:
            written.lines += [assignment([n], piece.expr, self.width) for n, piece in made]
        self.bound.extend(name for name, _ in made)
        return [w for _, w in left if w in self.plan.ends]

    # -- nested graphs -----------------------------------------------------------------------------

    def nested(self, unit: Unit) -> list[str]:
        """A nested function for each graph of a node."""
        lines: list[str] = []
        held = self.functions.setdefault(unit, {})
        for attribute, scopes in unit.graphs.items():
            for scope in scopes:
                python = self.names.take(scope.proto.name or attribute, "body")
                self.places.functions[scope] = python
                held.setdefault(attribute, []).append(python)
                lines += self.function(scope, python)
        return lines

    def function(self, scope: Scope, python: str) -> list[str]:
        """A nested function."""
        params = []
        for wire in scope.inputs:
            params.append(self.name(wire))
            self.facts.value(wire, wire.info)
        around, self.width = self.width, self.width - 4
        body: list[str] = []
        for wire in scope.initializers:
            if wire.input_index is None:
                name = self.name(wire)
                self.facts.value(wire, wire.info)
                made = self.module.initializer(wire, name)
                body.append(assignment([name], made, self.width))
        body += self.returning(scope)
        self.outer_facts(scope)
        self.graph_facts(scope, python)
        self.width = around
        head = Group(f"def {python}(", tuple(params), "):")
        self.module.uses.add("graph")
        front = render(head, 0, 0, around).split("\n")
        return ["", "@graph()", *front, *indented(body), ""]

    # -- facts -------------------------------------------------------------------------------------

    def outer_facts(self, scope: Scope) -> None:
        """What a graph says of results that are made elsewhere."""
        for wire in scope.outputs:
            if wire.producer is None or wire.scope is not scope:
                self.facts.value(wire, wire.info)

    def graph_facts(self, scope: Scope, usual: str) -> None:
        """Note what a nested graph says beside its computation."""
        graph = scope.proto
        assert isinstance(graph, onnx.GraphProto)
        more: dict[str, Expr] = {}
        if graph.name != usual:
            more["name"] = text(graph.name)
        extra = rest_of_graph(graph, scope)
        if extra:
            more["extra"] = data(extra)
        described = self.facts.described(graph, more)
        if described is not None:
            self.facts.graphs[scope] = described

    def node_facts(self, unit: Unit) -> None:
        """Note the name, doc string and metadata of a node."""
        node = unit.proto
        rest = self.left.pop(unit, onnx.NodeProto())
        rest.device_configurations.extend(node.device_configurations)
        if node.overload and self.module.function_name(unit.key) is None:
            rest.overload = node.overload
        extra = rest.SerializeToString(deterministic=True)
        without = ORIGIN if origin_of(unit) is not None else None
        more: dict[str, Expr] = {"extra": data(extra)} if extra else {}
        described = self.facts.described(node, more, without)
        if node.name:
            self.facts.node_names[unit] = node.name
        if described is not None:
            self.facts.nodes[unit] = described


def readers(wire: Wire, scope: Scope) -> list[Unit]:
    """The nodes of a graph that read a value, themselves or in their graphs."""
    found = []
    for user, _ in wire.uses:
        unit: Unit | None = user
        while unit is not None and unit.scope is not scope:
            unit = unit.scope.owner
        if unit is not None:
            found.append(unit)
    return found


def _crossed(left: list[tuple[str, Wire]], pieces: dict[Wire, Piece]) -> bool:
    """Whether one of several bindings reads what an earlier one has bound by then."""
    bound: set[str] = set()
    for name, wire in left:
        if wire not in pieces and len(left) > 1:
            return True
        if len(left) > 1 and bound & set(_WORD.findall(pieces[wire].text)):
            return True
        bound.add(name)
    return False


def usual_outputs(count: int) -> list[str]:
    """What results are called that have no name of their own."""
    return ["output"] if count == 1 else [f"output_{n}" for n in range(count)]


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


def assignment(targets: list[str], expression: Expr, width: int) -> str:
    """`a, b = expression`, or the expression alone, in lines of `width` columns."""
    if not targets:
        return render(expression, 0, 0, width)
    front = f"{', '.join(targets)} = "
    if len(front) > width - 4:
        front = "(\n    " + ",\n    ".join(targets) + ",\n) = "
        return front + render(expression, 4, 0, width)
    flat = flatten(expression)
    if isinstance(expression, str) and len(front) + len(flat) > width:
        return f"{front}(\n    {flat}\n)"
    return front + render(expression, len(front), 0, width)


def returned(result: list[str], width: int) -> str:
    """The return statement."""
    if not result:
        return "return ()"
    line = f"return {', '.join(result)}"
    if len(line) <= width:
        return line
    if len(result) == 1:
        return f"return (\n    {result[0]}\n)"
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
