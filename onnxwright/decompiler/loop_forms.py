"""Which Loop nodes can be `for` and `while` statements, and what the statements have to say."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from onnxwright.compare.equality import same_attribute
from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue

if TYPE_CHECKING:
    from onnxwright.decompiler.sugar import Sugar

_MOST_TESTS = 4


class Planned(Protocol):
    """What a loop asks of the plan of its function.

    Attributes:
        inlined: nodes that no statement is written for.
        shared: whether equal numbers are one constant.
    """

    inlined: set[ProtoNode]
    shared: bool

    @property
    def branches(self) -> Container[ProtoNode]:
        """Nodes that become `if` statements."""

    @property
    def returns(self) -> Mapping[ProtoValue, bool]:
        """Results, and whether each is returned once by its graph."""

    @property
    def literals(self) -> Mapping[tuple[ProtoNode, int], str]:
        """The numbers written in place of inputs, by node and position."""


@dataclass
class LoopForm:
    """A Loop that is a statement.

    Attributes:
        node, body: the node and its graph.
        carried: for each carried value: initially, inside the body, after an iteration, and after
            the loop.
        first: the condition before the first iteration: "absent", "true", "named" for a value that
            is true, or "" where it is any other value.
        again: the condition after an iteration: "identity", "same", "true", or "" if computed.
        is_while: there is no trip count.
        copied: the condition is passed on by a copy that is made anyway.
        tests: for a `while` over an expression: the nodes before the loop that compute it, last one
            last, and those in its body.
    """

    node: ProtoNode
    body: ProtoGraph
    carried: list[tuple[ProtoValue, ProtoValue, ProtoValue, ProtoValue]]
    first: str
    again: str
    is_while: bool
    tests: list[ProtoNode] = field(default_factory=list)
    inner_tests: list[ProtoNode] = field(default_factory=list)
    copied: bool = False

    def match_tests(self, plan: Planned) -> None:
        """See whether both conditions are one expression, and plan it so."""
        first, again = self.node.inputs[1], self.body.outputs[0]
        if first is None or self.body.inputs[1].uses:
            return
        match = _Match(self, plan)
        if match.same(first, again, top=True) and match.left:
            self.tests, self.inner_tests = match.left, match.right
            plan.inlined.update(match.left)
            plan.inlined.update(match.right)


class _Match:
    """The same expression before a loop and at the end of its body."""

    def __init__(self, form: LoopForm, plan: Planned) -> None:
        self.form = form
        self.plan = plan
        self.left: list[ProtoNode] = []
        self.right: list[ProtoNode] = []
        self.starts: dict[ProtoValue, list[ProtoValue]] = {}
        for start, _, end, _ in form.carried:
            self.starts.setdefault(start, []).append(end)

    def same(self, a: ProtoValue, b: ProtoValue, *, top: bool = False) -> bool:
        """Whether two values are made alike, or are the same variable."""
        if not top and (b in self.starts.get(a, ()) or (a is b and a not in self.starts)):
            return True
        left, right = a.producer, b.producer
        if left is None or right is None or left.graph is not self.form.node.graph:
            return False
        if right.graph is not self.form.body or len(self.left) >= _MOST_TESTS:
            return False
        if not (self._private(a, left, top=top) and self._private(b, right, top=top)):
            return False
        if left.key != right.key or not _same_attributes(left, right):
            return False
        if len(left.inputs) != len(right.inputs) or (left in self.plan.branches):
            return False
        for place, (x, y) in enumerate(zip(left.inputs, right.inputs, strict=True)):
            if (x is None) != (y is None):
                return False
            if x is None or y is None or self._same_number(left, right, place, x, y):
                continue
            if not self.same(x, y):
                return False
        self.left.append(left)
        self.right.append(right)
        return True

    def _private(self, value: ProtoValue, node: ProtoNode, *, top: bool) -> bool:
        """Whether nothing but the condition reads a value."""
        if node.subgraphs or len(node.outputs) != 1 or node in self.plan.inlined:
            return False
        inside = node.graph is self.form.body
        if top and inside:
            return not value.uses and self.plan.returns.get(value, False)
        return len(value.uses) == 1 and not value.is_output and node.key[1] != "Constant"

    def _same_number(
        self, left: ProtoNode, right: ProtoNode, place: int, x: ProtoValue, y: ProtoValue
    ) -> bool:
        a = self.plan.literals.get((left, place))
        b = self.plan.literals.get((right, place))
        if a is None or a != b:
            return False
        return (x is y) if self.plan.shared else x is not y


def _same_attributes(left: ProtoNode, right: ProtoNode) -> bool:
    ones = {a.name: a for a in left.proto.attribute}
    others = {a.name: a for a in right.proto.attribute}
    return ones.keys() == others.keys() and all(
        same_attribute(ones[name], others[name], ("", "")) for name in ones
    )


def loop_form(node: ProtoNode, sugar: Sugar) -> LoopForm | None:
    """The statement a Loop can be; None where it can only be a call, and why in `last_loop`.

    Args:
        node: a Loop node.
        sugar: what is known of constants.
    """
    form, sugar.last_loop = _form(node, sugar)
    return form


def _form(node: ProtoNode, sugar: Sugar) -> tuple[LoopForm | None, str]:
    body = node.subgraphs.get("body", [None])[0]
    if body is None or len(node.proto.attribute) != 1 or body.initializers:
        return None, "its body holds more than nodes"
    starts = node.inputs[2:]
    count = len(starts)
    if len(body.outputs) != count + 1 and len(body.inputs) == count + 2:
        return None, "it has scan outputs"
    if len(body.inputs) != count + 2 or len(body.outputs) != count + 1:
        return None, "its body does not fit it"
    results = node.outputs
    if not count or len(results) != count:
        return None, "not all it carries comes out of it"
    carried = []
    for start, inner, end, result in zip(
        starts, body.inputs[2:], body.outputs[1:], results, strict=True
    ):
        if start is None or result is None:
            return None, "a value it carries is absent"
        carried.append((start, inner, end, result))
    is_while = node.inputs[0] is None
    first = _first(node.inputs[1], sugar) if not is_while or node.inputs[1] is None else ""
    again = _again(body, sugar)
    if is_while and node.inputs[1] is None:
        return None, "nothing ends it"
    if first == "" and again == "absent":
        return None, "its condition is absent"
    if first and not is_while and _reads_flag(body, again):
        return None, "its body reads its condition"
    return LoopForm(node, body, carried, first, again, is_while), ""


def _first(value: ProtoValue | None, sugar: Sugar) -> str:
    if value is None:
        return "absent"
    if not _is_true(sugar.constant(value)):
        return ""
    return "true" if value in sugar.free else "named"


def _again(body: ProtoGraph, sugar: Sugar) -> str:
    value, flag = body.outputs[0], body.inputs[1]
    if value is flag:
        return "same"
    producer = value.producer
    if (
        producer is None
        or producer.graph is not body
        or value.uses
        or body.outputs.count(value) > 1
    ):
        return ""
    if (
        producer.key == ("", "Identity", "")
        and producer.inputs == [flag]
        and not producer.proto.attribute
    ):
        return "identity"
    return "true" if _is_true(sugar.constant(value)) else ""


def _reads_flag(body: ProtoGraph, again: str) -> bool:
    """Whether a body uses its condition, which has no name in a `for`, other than to pass it on."""
    flag = body.inputs[1]
    users = [node for node, _ in flag.uses]
    passed = [body.outputs[0].producer] if again == "identity" else []
    return users != passed or body.outputs.count(flag) > (again == "same")


def _is_true(constant: Any) -> bool:
    return (
        constant is not None
        and constant[0].dtype == np.bool_
        and constant[0].ndim == 0
        and bool(constant[0])
    )
