"""Loop nodes as `for` and `while`: what they carry are variables that keep their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from onnxwright.compare.proto_graph import ProtoNode, ProtoValue
from onnxwright.decompiler.body import _LONGEST, Body, Written, indented, readers
from onnxwright.decompiler.loop_forms import LoopForm
from onnxwright.decompiler.names import machine_made
from onnxwright.decompiler.pieces import UNARY, Piece

_COUNTERS = frozenset({"turn", "iter", "i", "iter_count", "iteration", "iter_num", "iteration_num"})


@dataclass
class _Variable:
    """A loop-carried variable: its value inside an iteration, and after it."""

    name: str
    inner: ProtoValue
    end: ProtoValue


class LoopBody(Body):
    """Writes one function, loops included."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.starting: list[ProtoValue] = []  # constants that a loop makes to start with

    def loop(self, node: ProtoNode, written: Written) -> None:
        """A Loop as `for` or `while`."""
        form = self.plan.loops[node]
        head = self._head(form, written)
        variables = [self._variable(form, n, written) for n in range(len(form.carried))]
        condition = self._condition(form, written)
        for _, _, _, result in form.carried:
            self.facts.value(result, result.info, typed=self.typed(result))
        self.places.attribute[form.body] = "body"
        mark, loops = len(self.bound), len(self.facts.loops)
        self.facts.loops.append({})
        starting, self.starting = self.starting, []
        lines = self._body(form, variables, condition, head)
        if form.first == "true":
            self.constant(node.inputs[1])
        for start in starting:
            self.constant(start)
        shape = self._shape(form, variables, self.bound[mark:])
        self.facts.loops[loops] = shape
        for (_, _, _, result), variable in zip(form.carried, variables, strict=True):
            self._hold(result, variable.name)
        self.graph_facts(form.body, "body")
        written.lines += lines
        self.add(node)

    # -- around the loop ---------------------------------------------------------------------------

    def _head(self, form: LoopForm, written: Written) -> str:
        """The trip count; empty where a condition alone ends the loop."""
        trip = form.node.inputs[0]
        if trip is None:
            self.flush(written)
            return ""
        number = self.plan.literals.get((form.node, 0))
        if number is None:
            fits = lambda pieces: len(pieces[trip].text) <= _LONGEST - 24  # noqa: E731
            merged = self.merged([trip], written, fits)
            number = merged[trip].text if trip in merged else self.name(trip)
        else:
            self.constant(trip)
        self.flush(written)
        return number

    def _variable(self, form: LoopForm, place: int, written: Written) -> _Variable:
        """The variable of a carried value, which starts as it should."""
        start, inner, end, _ = form.carried[place]
        name = self.places.python.get(start)
        if start in self.module.sugar.free:
            name = self.names.take(self._wish(form, place))
            self.bound.append(name)
            written.lines.append(f"{name} = {self.module.sugar.text(start)}")
            self.starting.append(start)
        elif name is None or not self._may_take(start, form):
            wished = self._wish(form, place)
            name = self.names.take(wished)
            self.bound.append(name)
            written.lines.append(f"{name} = {self.name(start)}")
        self._hold(inner, name)
        self.facts.value(inner, inner.info)
        return _Variable(name, inner, self.plan.sources.get(end, end))

    def _wish(self, form: LoopForm, place: int) -> str:
        """What a variable is best called."""
        start, inner, end, result = form.carried[place]
        for value in (inner, result, start, end):
            if not machine_made(value.name, "Loop") and value.name:
                return re.sub(r"(?<=\w)((_\d+)+|_(in|out))$", "", value.name) or value.name
        return inner.name

    def _may_take(self, start: ProtoValue, form: LoopForm) -> bool:
        """Whether a loop may go on with the name of what it starts as: nobody else reads it."""
        if start.graph is not form.node.graph or start.tensor is not None or start.is_output:
            return False
        if [*form.node.inputs[1:]].count(start) > 1:
            return False
        own = {form.node, *form.tests}
        return all(user in self.written or user in own for user, _ in start.uses)

    def _hold(self, value: ProtoValue, name: str) -> None:
        """A value under a name that others have too."""
        if value not in self.places.python:
            self.places.hold(value, name)

    def _condition(self, form: LoopForm, written: Written) -> _Variable | None:
        """The variable with the loop condition, where it has one."""
        first, inner, end = form.node.inputs[1], form.body.inputs[1], form.body.outputs[0]
        if form.tests or (not form.is_while and form.first):
            return None
        assert first is not None
        name = self.places.python.get(first)
        if name is None or not self._may_take(first, form):
            name = self.names.take("go_on")
            self.bound.append(name)
            written.lines.append(f"{name} = {self.name(first)}")
        self._hold(inner, name)
        return _Variable(name, inner, self.plan.sources.get(end, end))

    # -- the body ----------------------------------------------------------------------------------

    def _body(
        self, form: LoopForm, variables: list[_Variable], condition: _Variable | None, head: str
    ) -> list[str]:
        """The lines of the statement."""
        body = form.body
        number, flag = body.inputs[:2]
        all_variables = [*variables, *([condition] if condition is not None else [])]
        front = self._front(form, condition, head)
        self.facts.value(number, number.info)
        self.facts.value(flag, flag.info)
        for variable in all_variables:
            if self._may_bind(form, variable):
                self._hold(variable.end, variable.name)
        self.width -= 4
        written = self.block(body)
        pairs = [(v.name, v.end) for v in all_variables if v.end is not v.inner]
        last = not form.is_while and condition is None and not form.again
        test = body.outputs[0]
        if last and not self.unbound(pairs) and [w for w, _ in written.pending][-1:] == [test]:
            (_, piece) = written.pending.pop()
        else:
            piece = Piece("")
        ends = self.bind(self.unbound(pairs), written)
        self.flush(written)
        copies = [w for w in body.outputs if w in self.plan.sources]
        lines = written.lines
        if not form.is_while and condition is not None:
            lines = [f"if not {condition.name}:", "    break", *lines]
        elif last:
            lines += [f"if {self._stop(test, piece)}:", "    break"]
        for end in ends:
            self.constant(end)
        if not form.is_while and condition is None and form.again in ("identity", "true"):
            self._condition_node(form)
        for value in copies:
            self.copy(value)
        for node in form.inner_tests:
            self.add(node)
            self.results_facts(node)
        self.outer_facts(body)
        self.width += 4
        return [*front, *indented(lines or ["pass"])]

    def _stop(self, test: ProtoValue, piece: Piece) -> str:
        """The test that ends a loop: that its condition is not true."""
        producer = test.producer
        if piece.text and producer is not None and self.plan.symbols.get(producer) == "~":
            text = piece.text[1:]
            return text[1:-1] if text.startswith("(") else text
        return f"not {(piece if piece.text else Piece(self.name(test))).inside(UNARY)}"

    def _condition_node(self, form: LoopForm) -> None:
        """The node that the statement makes for its condition."""
        producer = form.body.outputs[0].producer
        assert producer is not None
        self.add(producer)
        self.results_facts(producer)

    def results_facts(self, node: ProtoNode) -> None:
        """Note what is said of the results of a node that no statement is written for."""
        for value in node.outputs:
            if value is not None:
                self.facts.value(value, value.info)

    def _front(self, form: LoopForm, condition: _Variable | None, head: str) -> list[str]:
        """`for i in range(n):` or `while test:`."""
        if form.is_while:
            if not form.tests:
                assert condition is not None
                return [f"while {condition.name}:"]
            pieces: dict[ProtoValue, Piece] = {}
            for node in form.tests:
                (value,) = (w for w in node.outputs if w is not None)
                pieces[value] = self.piece(node, pieces)
                self.add(node)
                self.results_facts(node)
                self.written.add(node)
            return [f"while {list(pieces.values())[-1].text}:"]
        number = form.body.inputs[0]
        read = bool(number.uses) or number in form.body.outputs
        if not read:
            self.places.hold(number, "_")
            return [f"for _ in range({head}):"]
        plain = re.sub(r"_\d+$", "", number.name)
        if plain in _COUNTERS or machine_made(number.name, "Loop"):
            self.places.name(number, self.names.take("i"))
        return [f"for {self.name(number)} in range({head}):"]

    def _may_bind(self, form: LoopForm, variable: _Variable) -> bool:
        """Whether the producer of an iteration's result may bind the variable's name."""
        if variable.end in self.places.python or variable.end in self.plan.ends:
            return False
        tests = set(form.inner_tests)
        if any(node in tests for node in readers(variable.inner, form.body)):
            return False
        return self.may_bind(form.body, variable.end, variable.name)

    def _shape(
        self, form: LoopForm, variables: list[_Variable], bound: list[str]
    ) -> dict[str, object]:
        """What the statement does not say of how the Loop is made."""
        shape: dict[str, object] = {}
        names = [v.name for v in variables]
        live = {
            v.name
            for v, (_, inner, _, result) in zip(variables, form.carried, strict=True)
            if inner.uses
            or inner in self.plan.results(form.body)
            or result.uses
            or result.is_output
        }
        usual = [name for name in dict.fromkeys(bound) if name in names and name in live]
        if usual != names:
            shape["carried"] = names
        if form.is_while or (not form.first):
            return shape
        if form.first == "named":
            first = form.node.inputs[1]
            assert first is not None
            shape["first"] = self.name(first)
        elif form.first != "true":
            shape["first"] = form.first
        if form.again and form.again != "identity":
            shape["again"] = form.again
        return shape
