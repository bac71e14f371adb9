"""The body of a graph or function as Python statements, nodes in the order they have.

Names come out unique in the whole function, nested ones included, so that a name says which value
is meant everywhere; only a loop-carried value keeps its name through all iterations.
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
# Limits of one expression: operators in one another, columns, and columns of a whole call.
_DEEPEST, _LONGEST, _LINE = 3, 88, 12


@dataclass
class Written:
    """Statements of a block.

    Attributes:
        lines: the statements, not indented.
        pending: expressions that are made but not written yet, in the order of making.
    """

    lines: list[str] = field(default_factory=list)
    pending: list[tuple[ProtoValue, Piece]] = field(default_factory=list)


class Body(Writer, ABC):
    """Writes one function as statements."""

    # -- statements --------------------------------------------------------------------------------

    def write(self) -> list[str]:
        """The statements of the outermost body, its `return` among them."""
        for value in self.graph.outputs:
            if value not in self.places.python and value not in self.kept:
                producer = value.producer
                if value.graph is not None and not (producer and self.nameless(producer, value)):
                    self.kept[value] = self.names.take(value.name)
        self.facts.shared, self.facts.copies = self.plan.shared, self.plan.copies
        lines = self.returning(self.graph)
        self.places.finish()
        usual = usual_outputs(len(set(self.graph.outputs)))
        for n, value in enumerate(dict.fromkeys(self.graph.outputs)):
            python = self.places.named(value)
            taken = python is None and usual[n] in self.places.owner
            if taken or (usual[n] if python is None else python) != value.name:
                self.facts.names[value] = value.name
        return lines

    def returning(self, graph: ProtoGraph) -> list[str]:
        """The statements of a function's body."""
        written = self.block(graph)
        return [*written.lines, returned(self.results(graph, written), self.width)]

    def results(self, graph: ProtoGraph, written: Written) -> list[str]:
        """What a function returns; the last expressions are inlined where possible."""
        values = self.plan.results(graph)
        merged = self.merged(values, written, lambda _: True)
        shown = [merged[w].text if w in merged else self.name(w) for w in values]
        for value in graph.outputs:
            if value in self.plan.sources:
                self.copy(value)
        return shown

    def copy(self, value: ProtoValue) -> None:
        """Note a copy that is made where a graph ends."""
        assert value.producer is not None
        self.places.add(value.producer)
        self.node_facts(value.producer)
        self.facts.value(value, value.info, typed=self.typed(value))

    def block(self, graph: ProtoGraph) -> Written:
        """The statements of a graph."""
        written = Written()
        for node in self.plan.order[graph]:
            if node not in self.plan.inlined:
                self.node(node, written)
        return written

    def node(self, node: ProtoNode, written: Written) -> None:
        """One node: an expression that waits for its place, or statements."""
        if node in self.plan.branches:
            self.branch(node, written)
        elif node in self.plan.loops:
            self.loop(node, written)
        elif node.subgraphs or len(node.outputs) != 1 or node.outputs[0] is None:
            self.statement(node, written)
        else:
            self.expression(node, node.outputs[0], written)
        self.written.add(node)

    @abstractmethod
    def loop(self, node: ProtoNode, written: Written) -> None:
        """A Loop as `for` or `while`."""

    def expression(self, node: ProtoNode, output: ProtoValue, written: Written) -> None:
        """A node of one result."""
        # NOTE: names of the model are not looked at: the same text is to come of the next one.
        waits = self.waits(node, output)
        space = min(self.width, _LONGEST) - (_LINE if waits else _LINE + 8)
        tried: list[Piece] = []

        def fits(pieces: dict[ProtoValue, Piece]) -> bool:
            piece = self.piece(node, pieces)
            tried.append(piece)
            return piece.depth <= _DEEPEST and len(piece.text) <= space

        values = [w for w in node.inputs if w is not None]
        merged = self.merged(values, written, fits)
        piece = tried[0] if merged else self.piece(node, merged)
        self.add(node)
        if waits:
            written.pending.append((output, piece))
        else:
            self.flush(written)
            self.assign(output, piece, written)
        self.facts.value(output, output.info, typed=self.typed(output))

    def waits(self, node: ProtoNode, output: ProtoValue) -> bool:
        """Whether a value may be written inside the expression that reads it."""
        if not self.module.sugar.on or output in self.kept or output in self.places.python:
            return False
        key = node.key
        if key == ("", "Constant", "") or len(node.proto.attribute) > 3:
            return False
        if output.is_output:
            whole = self.plan.returns.get(output, False)
            return whole and not output.uses and self.nameless(node, output)
        if len(output.uses) != 1:
            return False
        user, place = output.uses[0]
        if user.graph is not output.graph or not self.nameless(node, output):
            return False
        if user in self.plan.loops:
            return place == 0
        if user in self.plan.branches:
            return place == 0
        return not user.subgraphs and self.module.sugar.allows(self.plan.number.get(user, 0))

    def nameless(self, node: ProtoNode, value: ProtoValue) -> bool:
        """Whether a value's name says nothing."""
        top = value.is_output and value.graph is self.graph
        if top and _is_usual_output(value.name, len(self.graph.outputs)):
            return True
        return machine_made(value.name, node.proto.op_type)

    def merged(
        self, values: list[ProtoValue], written: Written, fits: object
    ) -> dict[ProtoValue, Piece]:
        """Pending expressions that may be inlined where `values` are read; others get names.

        Nodes stay in order: only the newest expressions may be inlined, and in their own order.
        """
        waiting = [w for w, _ in written.pending]
        candidates = [w for w in dict.fromkeys(values) if w in waiting]
        count = len(candidates)
        while count and waiting[-count:] != candidates[-count:]:
            count -= 1
        top = written.pending[len(waiting) - count :] if count else []
        pieces = dict(top)
        if pieces and not fits(pieces):  # type: ignore[operator]
            pieces = {}
        if len(pieces) < len(candidates):
            last = max(n for n, w in enumerate(waiting) if w in candidates and w not in pieces)
            self.flush(written, last + 1)
        if pieces:
            del written.pending[len(written.pending) - len(pieces) :]
        return pieces

    def flush(self, written: Written, count: int | None = None) -> None:
        """Give names to waiting expressions, oldest first."""
        flushed = written.pending[:count]
        del written.pending[:count]
        for value, piece in flushed:
            self.assign(value, piece, written)

    def assign(self, value: ProtoValue, piece: Piece, written: Written) -> None:
        """Bind a value's name to its expression."""
        name = self.name(value)
        self.bound.append(name)
        written.lines.append(assignment([name], piece.expr, self.width))

    def statement(self, node: ProtoNode, written: Written) -> None:
        """A node of several results, or with graphs: nested functions, then the call."""
        fits = lambda pieces: len(self.piece(node, pieces).text) <= _LONGEST - 16  # noqa: E731
        if node.subgraphs:
            self.flush(written)
            written.lines.extend(self.nested(node))
        merged = self.merged([w for w in node.inputs if w is not None], written, fits)
        self.flush(written)
        targets = [self.target(node, w) for w in node.outputs]
        piece = self.piece(node, merged)
        self.bound.extend(targets)
        written.lines.append(assignment(targets, piece.expr, self.width))
        self.add(node)

    def target(self, node: ProtoNode, value: ProtoValue | None) -> str:
        """The name an output of a node is bound to."""
        if value is None:
            python = self.names.take("absent")
            self.facts.absent.append(python)
            if node.outputs[0] is None:
                self.places.first.setdefault(node, python)
            return python
        python = self.name(value)
        self.facts.value(value, value.info, typed=self.typed(value))
        return python

    # -- branches --------------------------------------------------------------------------------

    def branch(self, node: ProtoNode, written: Written) -> None:
        """An If as `if` and `else`."""
        test = node.inputs[0]
        assert test is not None
        short = lambda pieces: len(pieces[test].text) <= _LONGEST - 4  # noqa: E731
        merged = self.merged([test], written, short)
        self.flush(written)
        head = merged[test].text if test in merged else self.name(test)
        targets = [self.target(node, w) for w in node.outputs]
        self.width -= 4
        lines = []
        for name in ("then_branch", "else_branch"):
            graph = node.subgraphs[name][0]
            self.places.attribute[graph] = name
            lines.append(indented(self.side(graph, targets, first=name == "then_branch")))
            self.graph_facts(graph, name)
        self.width += 4
        written.lines += [f"if {head}:", *(lines[0] or ["    pass"])]
        if lines[1]:
            written.lines += ["else:", *lines[1]]
        self.bound.extend(targets)
        self.add(node)

    def side(self, graph: ProtoGraph, targets: list[str], *, first: bool) -> list[str]:
        """One side of an If; its results are bound to the names of the If's outputs.

        They are bound in the order of the outputs: compiling takes that order from the text.
        """
        results = self.plan.results(graph)
        order, place = self.plan.order[graph], -1
        for target, result in zip(targets, results, strict=True):
            producer = result.producer
            plain = not result.uses or (producer is not None and self.nameless(producer, result))
            if result in self.places.python or not plain or result in self.plan.ends:
                break
            if not self.may_bind(graph, result, target) or order.index(producer) < place:  # type: ignore[arg-type]
                break
            place = order.index(producer)  # type: ignore[arg-type]
            self.places.hold(result, target)
            self.direct.add(result)
        written = self.block(graph)
        pairs = list(zip(targets, results, strict=True))
        left = [pair for pair in pairs if pair[1] not in self.direct]
        new = [n for n, pair in enumerate(left) if self.unbound([pair])]
        kept = left[: new[-1] + 1 if new else 0] if first else [left[n] for n in new]
        for end in self.bind(kept, written):
            self.constant(end)
        for value in graph.outputs:
            if value in self.plan.sources:
                self.copy(value)
        self.outer_facts(graph)
        return written.lines

    def may_bind(self, graph: ProtoGraph, result: ProtoValue, name: str) -> bool:
        """Whether a result may have a name from the node that makes it: nobody reads it after."""
        plan, producer = self.plan, result.producer
        results = plan.results(graph)
        if producer is None or result.graph is not graph or results.count(result) > 1:
            return False
        if producer in plan.inlined or producer in plan.loops:
            return False
        order = plan.order[graph]
        if producer.subgraphs and producer not in plan.branches:
            return False
        later = set(order[order.index(producer) + 1 :])
        for value in self.places.holders.get(name, ()):
            if value in results or any(user in later for user in readers(value, graph)):
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
        assignments = [(n, self.argument(w, merged, self.plan.ends.get(w))) for n, w in left]
        names = {name for name, _ in assignments}
        if (
            not merged
            and len(assignments) > 1
            and any(piece.text in names for _, piece in assignments)
        ):
            values = ", ".join(piece.text for _, piece in assignments)
            written.lines.append(f"{', '.join(n for n, _ in assignments)} = {values}")
        else:
            written.lines += [assignment([n], piece.expr, self.width) for n, piece in assignments]
        self.bound.extend(name for name, _ in assignments)
        return [w for _, w in left if w in self.plan.ends]

    # -- nested graphs -----------------------------------------------------------------------------

    def nested(self, node: ProtoNode) -> list[str]:
        """A nested function for each graph of a node."""
        lines: list[str] = []
        held = self.functions.setdefault(node, {})
        for attribute, graphs in node.subgraphs.items():
            for graph in graphs:
                python = self.names.take(graph.proto.name or attribute, "body")
                self.places.functions[graph] = python
                held.setdefault(attribute, []).append(python)
                lines += self.function(graph, python)
        return lines

    def function(self, graph: ProtoGraph, python: str) -> list[str]:
        """A nested function."""
        params = []
        for value in graph.inputs:
            params.append(self.name(value))
            self.facts.value(value, value.info)
        around, self.width = self.width, self.width - 4
        body: list[str] = []
        for value in graph.initializers:
            if value.input_index is None:
                name = self.name(value)
                self.facts.value(value, value.info)
                initializer = self.module.initializer(value, name)
                self.module.is_body_hollow = self.module.options.hollow
                body.append(assignment([name], initializer, self.width))
        body += self.returning(graph)
        self.outer_facts(graph)
        self.graph_facts(graph, python)
        self.width = around
        head = Group(f"def {python}(", tuple(params), "):")
        self.module.uses.add("graph")
        front = render(head, 0, 0, around).split("\n")
        return ["", "@graph()", *front, *indented(body), ""]


def readers(value: ProtoValue, graph: ProtoGraph) -> list[ProtoNode]:
    """The nodes of a graph that read a value, themselves or in their graphs."""
    nodes = []
    for user, _ in value.uses:
        node: ProtoNode | None = user
        while node is not None and node.graph is not graph:
            node = node.graph.owner
        if node is not None:
            nodes.append(node)
    return nodes


def _crossed(left: list[tuple[str, ProtoValue]], pieces: dict[ProtoValue, Piece]) -> bool:
    """Whether one of several bindings reads what an earlier one has bound by then."""
    bound: set[str] = set()
    for name, value in left:
        if value not in pieces and len(left) > 1:
            return True
        if len(left) > 1 and bound & set(_WORD.findall(pieces[value].text)):
            return True
        bound.add(name)
    return False


def usual_outputs(count: int) -> list[str]:
    """What results are called that have no name of their own."""
    return ["output"] if count == 1 else [f"output_{n}" for n in range(count)]


def _is_usual_output(name: str, count: int) -> bool:
    """Whether a name is one of `usual_outputs(count)`."""
    if count == 1:
        return name == "output"
    number = name.removeprefix("output_")
    if not number.isdecimal() or len(number) > len(str(count)):
        return False
    return name == f"output_{int(number)}" and int(number) < count


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
    deeper: list[str] = []
    for line in lines:
        for part in line.split("\n"):
            if part or (deeper and deeper[-1]):
                deeper.append(f"    {part}" if part else part)
    return deeper
