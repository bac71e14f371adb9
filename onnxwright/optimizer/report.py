"""What the optimizer did to a model, as data and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import onnx_ir as ir

from onnxwright.diagnostics.shown_text import ShownText
from onnxwright.diagnostics.text import clean
from onnxwright.ir.nested import all_nodes
from onnxwright.optimizer.steps import Step, table


@dataclass
class OptimizeReport(ShownText):
    """What was done.

    Fields:
        nodes: how many nodes there were, and are, bodies and functions included.
        operators: for each operator how many there were, and are.
        weight_bytes: the bytes of initializers before and after.
        rules: how often each rule was used.
        declined: rules that matched and were not used somewhere: name -> why, the first time.
        failed: those of them whose replacement raised an error.
        constant_initializers: initializers that were inputs, and are none now.
        replaceable_initializers: initializers that are inputs, so that a caller may replace them:
            `assume=["constant_initializers"]` says that nobody does.
        shared_weights: initializers that are gone because another one holds the same: name -> name
            of that one.
        rounds: the normal form, and each wave over the nodes that changed something.
        steps: what each rule and pass did, in order.
        largest_differences: with `verify`, for each output the largest absolute difference; None
            where it is not numbers.
    """

    nodes: tuple[int, int] = (0, 0)
    operators: dict[str, tuple[int, int]] = field(default_factory=dict)
    weight_bytes: tuple[int, int] = (0, 0)
    rules: Counter[str] = field(default_factory=Counter)
    declined: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    constant_initializers: tuple[str, ...] = ()
    replaceable_initializers: tuple[str, ...] = ()
    shared_weights: dict[str, str] = field(default_factory=dict)
    rounds: int = 0
    steps: list[Step] = field(default_factory=list)
    largest_differences: dict[str, float | None] = field(default_factory=dict)

    def explain(self) -> str:
        """Rule by rule what was done, as a table: places, nodes taken away, nodes put there.

        Example:
            >>> import onnx
            >>> from onnxwright.optimizer import optimize
            >>> text = '<ir_version: 10, opset_import: ["" : 20]> g (float[2] x) => (float[2] y)'
            >>> model = onnx.parser.parse_model(text + "{ a = Relu(x)  y = Relu(a) }")
            >>> print(optimize(model, report=True)[1].explain())
            rule or pass  times  before  after  which nodes
            ---------------------------------------------------
            relu_of_relu      1       1      0  Relu -> nothing
            ---------------------------------------------------
            the model                 2      1  all nodes
        """
        return table(self.steps, self.nodes)

    def __str__(self) -> str:
        lines = [f"nodes   {self.nodes[0]:>8} -> {self.nodes[1]}"]
        lines.append(f"weights {self.weight_bytes[0]:>8} -> {self.weight_bytes[1]} bytes")
        changed = {k: v for k, v in self.operators.items() if v[0] != v[1]}
        width = max((len(name) for name in (*changed, *self.rules)), default=0)
        for name, (before, after) in sorted(changed.items(), key=lambda i: i[1][1] - i[1][0]):
            lines.append(f"  {name:<{width}} {before:>6} -> {after}")
        if self.rules:
            lines.append("rules")
            for name, count in self.rules.most_common():
                lines.append(f"  {name:<{width}} {count:>6}")
        if self.shared_weights:
            lines.append(f"equal weights stored once: {_few(self._shared())}")
        if self.constant_initializers:
            lines.append(f"initializers that left the inputs: {_few(self.constant_initializers)}")
        if self.replaceable_initializers:
            lines.append(
                f"initializers that are inputs: {_few(self.replaceable_initializers)}\n"
                '  (assume "constant_initializers" where nobody replaces them: then they fold)'
            )
        return "\n".join(lines)

    def _shared(self) -> tuple[str, ...]:
        return tuple(f"{gone} (as {kept})" for gone, kept in self.shared_weights.items())


def _few(names: tuple[str, ...]) -> str:
    shown = ", ".join(clean(n) for n in names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown


def count_operators(model: ir.Model) -> Counter[str]:
    """How many nodes of each operator a model has, bodies and functions included."""
    counts = Counter([(n.domain, n.op_type) for n in _nodes(model)])
    return Counter({f"{d}.{name}" if d else name: n for (d, name), n in counts.items()})


def _nodes(model: ir.Model) -> Iterator[ir.Node]:
    yield from all_nodes(model.graph)
    for function in model.functions.values():
        yield from all_nodes(function)


def weight_bytes(model: ir.Model) -> int:
    """The bytes of a model's initializers, each tensor once."""
    seen: dict[int, Any] = {}
    for value in model.graph.initializers.values():
        if value.const_value is not None:
            seen[id(value.const_value)] = value.const_value
    return sum(int(t.nbytes) for t in seen.values())


def compared(before: Counter[str], after: Counter[str]) -> dict[str, tuple[int, int]]:
    """The counts of each operator before and after."""
    names = dict.fromkeys([*before, *after])
    return {name: (before[name], after[name]) for name in names}
