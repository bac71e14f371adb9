"""The body of a graph or function as Python statements, nodes in the order they have.

Names come out unique in the whole function, nested ones included, so that a name says which value
is meant wherever the file speaks of one; only what a loop carries keeps its name from turn to turn.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue
from onnxwright.decompiler.layout import Expr, Group, flatten, render
from onnxwright.decompiler.names import machine_made
from onnxwright.decompiler.pieces import Piece
from onnxwright.decompiler.writer import Writer

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
    pending: list[tuple[ProtoValue, Piece]] = field(default_factory=list)


class Body(Writer, ABC):
    """Writes one function as statements."""

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

    def returning(self, scope: ProtoGraph) -> list[str]:
        """The statements of a function's body."""
        written = self.block(scope)
        return [*written.lines, returned(self.results(scope, written), self.width)]

    def results(self, scope: ProtoGraph, written: Written) -> list[str]:
        """What a function returns; the last expressions stand there where they may."""
        wires = self.plan.results(scope)
        merged = self.merged(wires, written, lambda _: True)
        shown = [merged[w].text if w in merged else self.name(w) for w in wires]
        for wire in scope.outputs:
            if wire in self.plan.sources:
                self.copy(wire)
        return shown

    def copy(self, wire: ProtoValue) -> None:
        """Note a copy that is made where a graph ends."""
        assert wire.producer is not None
        self.places.made(wire.producer)
        self.node_facts(wire.producer)
        self.facts.value(wire, wire.info, typed=self.typed(wire))

    def block(self, scope: ProtoGraph) -> Written:
        """The statements of a graph."""
        written = Written()
        for unit in self.plan.order[scope]:
            if unit not in self.plan.inlined:
                self.unit(unit, written)
        return written

    def unit(self, unit: ProtoNode, written: Written) -> None:
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
    def loop(self, unit: ProtoNode, written: Written) -> None:
        """A Loop as `for` or `while`."""

    def expression(self, unit: ProtoNode, made: ProtoValue, written: Written) -> None:
        """A node of one result."""
        # NOTE: names of the model are not looked at: the same text is to come of the next one.
        room = min(self.width, _LONGEST) - (_LINE if self.waits(unit, made) else _LINE + 8)

        def fits(pieces: dict[ProtoValue, Piece]) -> bool:
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

    def waits(self, unit: ProtoNode, made: ProtoValue) -> bool:
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

    def nameless(self, unit: ProtoNode, made: ProtoValue) -> bool:
        """Whether a value's name says nothing."""
        top = made.is_output and made.scope is self.scope
        if top and made.name in usual_outputs(len(self.scope.outputs)):
            return True
        return machine_made(made.name, unit.proto.op_type)

    def merged(
        self, wires: list[ProtoValue], written: Written, fits: object
    ) -> dict[ProtoValue, Piece]:
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

    def assign(self, wire: ProtoValue, piece: Piece, written: Written) -> None:
        """Bind a value's name to its expression."""
        name = self.name(wire)
        self.bound.append(name)
        written.lines.append(assignment([name], piece.expr, self.width))

    def statement(self, unit: ProtoNode, written: Written) -> None:
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

    def target(self, unit: ProtoNode, wire: ProtoValue | None) -> str:
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

    # -- branches --------------------------------------------------------------------------------

    def branch(self, unit: ProtoNode, written: Written) -> None:
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

    def side(self, scope: ProtoGraph, targets: list[str], *, first: bool) -> list[str]:
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

    def may_bind(self, scope: ProtoGraph, result: ProtoValue, name: str) -> bool:
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

    def unbound(self, pairs: list[tuple[str, ProtoValue]]) -> list[tuple[str, ProtoValue]]:
        """Those of names and values where the value does not have the name."""
        return [(name, w) for name, w in pairs if self.places.python.get(w) != name]

    def bind(self, pairs: list[tuple[str, ProtoValue]], written: Written) -> list[ProtoValue]:
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

    def nested(self, unit: ProtoNode) -> list[str]:
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

    def function(self, scope: ProtoGraph, python: str) -> list[str]:
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
                self.module.is_body_hollow = self.module.options.hollow
                body.append(assignment([name], made, self.width))
        body += self.returning(scope)
        self.outer_facts(scope)
        self.graph_facts(scope, python)
        self.width = around
        head = Group(f"def {python}(", tuple(params), "):")
        self.module.uses.add("graph")
        front = render(head, 0, 0, around).split("\n")
        return ["", "@graph()", *front, *indented(body), ""]


def readers(wire: ProtoValue, scope: ProtoGraph) -> list[ProtoNode]:
    """The nodes of a graph that read a value, themselves or in their graphs."""
    found = []
    for user, _ in wire.uses:
        unit: ProtoNode | None = user
        while unit is not None and unit.scope is not scope:
            unit = unit.scope.owner
        if unit is not None:
            found.append(unit)
    return found


def _crossed(left: list[tuple[str, ProtoValue]], pieces: dict[ProtoValue, Piece]) -> bool:
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


__all__ = ["Body", "Written", "assignment", "indented", "readers", "returned"]
