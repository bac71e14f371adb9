"""What the optimizer did step by step, as rows of a table: nodes before, nodes after, which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from onnxwright.diagnostics.shown_text import text_table
from onnxwright.diagnostics.text import clean

_MOST = 4  # operators that one cell names


@dataclass(frozen=True)
class Step:
    """What one rule or pass did.

    Fields:
        name: the rule, or the pass.
        times: in how many places.
        before: how many nodes it took away.
        after: how many nodes it put there.
        operators: which ones, in the form that was found most often: `Add, Div, Erf -> Gelu`.
        forms: how many other forms there were.
    """

    name: str
    times: int
    before: int
    after: int
    operators: str
    forms: int = 0


@dataclass(frozen=True)
class Use:
    """One use of a rule: its name, the operators of the nodes it took away and of the new ones."""

    rule: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def operators_of(nodes: Iterable[ir.Node]) -> tuple[str, ...]:
    """The operators of nodes, sorted, with their domains."""
    return tuple(sorted(f"{n.domain}.{n.op_type}" if n.domain else n.op_type for n in nodes))


def steps_of(uses: Iterable[Use]) -> list[Step]:
    """The uses of rules as one step for each rule, in the order of the first use.

    Args:
        uses: the uses.

    Returns:
        The steps.

    Example:
        >>> steps_of([Use("twice", ("Neg", "Neg"), ())] * 2)
        [Step(name='twice', times=2, before=4, after=0, operators='Neg 2 -> nothing', forms=0)]
    """
    by_rule: dict[str, Counter[Use]] = {}
    for use in uses:
        by_rule.setdefault(use.rule, Counter())[use] += 1
    steps = []
    for rule, forms in by_rule.items():
        first = forms.most_common(1)[0][0]
        shown = _arrow(Counter(first.before), Counter(first.after))
        before = sum(len(use.before) * n for use, n in forms.items())
        after = sum(len(use.after) * n for use, n in forms.items())
        steps.append(Step(rule, forms.total(), before, after, shown, len(forms) - 1))
    return steps


def step_between(
    name: str, before: Counter[str], after: Counter[str], steps: Sequence[Step] = ()
) -> Step | None:
    """What a pass did between two counts of operators, beside what some steps say already.

    Args:
        name: what the pass is called.
        before, after: how many nodes of each operator there were, and are.
        steps: what was done in between by others.

    Returns:
        The step; None where nothing is left to say.
    """
    gone, new = before - after, after - before
    left = gone.total() - new.total() - sum(s.before - s.after for s in steps)
    if steps:  # which operators these are is not known where rules changed others
        return Step(name, 1, max(left, 0), max(-left, 0), "") if left else None
    if not gone and not new:
        return None
    return Step(name, 1, gone.total(), new.total(), _arrow(gone, new))


def merged(steps: Iterable[Step]) -> list[Step]:
    """Steps of one name as one, in the order of the first."""
    by_name: dict[str, Step] = {}
    for step in steps:
        earlier = by_name.get(step.name)
        if earlier is None:
            by_name[step.name] = step
            continue
        first = max(earlier, step, key=lambda s: s.times)
        others = earlier.forms + step.forms + (earlier.operators != step.operators)
        by_name[step.name] = Step(
            step.name, earlier.times + step.times, earlier.before + step.before,
            earlier.after + step.after, first.operators, others,
        )  # fmt: skip
    return list(by_name.values())


def table(steps: Iterable[Step], nodes: tuple[int, int]) -> str:
    """The steps as a table, and how many nodes there were and are.

    Args:
        steps: the steps.
        nodes: of the whole model, before and after.

    Returns:
        The text.
    """
    head = ("rule or pass", "times", "before", "after", "which nodes")
    rows = []
    for step in merged(steps):
        more = f" (and {step.forms} other forms)" if step.forms > 1 else ""
        more = " (and another form)" if step.forms == 1 else more
        which = clean(step.operators + more)
        rows.append((clean(step.name), str(step.times), str(step.before), str(step.after), which))
    rows.append(("the model", "", str(nodes[0]), str(nodes[1]), "all nodes"))
    lines = text_table(head, rows, right=head[1:4]).split("\n")
    rule = "-" * max(map(len, lines))
    return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1]])


def _arrow(before: Counter[str], after: Counter[str]) -> str:
    return f"{_counted(before)} -> {_counted(after)}"


def _counted(operators: Counter[str]) -> str:
    if not operators:
        return "nothing"
    common = operators.most_common()
    words = [f"{name} {n}" if n > 1 else name for name, n in common[:_MOST]]
    rest = sum(n for _, n in common[_MOST:])
    return ", ".join([*words, f"{rest} more"] if rest else words)
