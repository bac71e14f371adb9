"""`Rewriter`: the rules of one wave, what they match at a node, and what they put there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, NoReturn

import onnx_ir as ir

from onnxwright.diagnostics.catalogue import rules as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import OnnxwrightError
from onnxwright.ir import adapters
from onnxwright.ir.builder import ORIGIN
from onnxwright.ir.stored import props_of
from onnxwright.operators.op_call import UnknownError
from onnxwright.optimizer.match import Match
from onnxwright.optimizer.matching import Matcher
from onnxwright.optimizer.metadata import MetadataMerger
from onnxwright.optimizer.replacement_checks import (
    computed,
    fits,
    is_frozen,
    taken_away,
    without_new_names,
)
from onnxwright.optimizer.rules import Rule
from onnxwright.optimizer.scope import Scope
from onnxwright.optimizer.screening import Entry, pattern_index
from onnxwright.optimizer.steps import Step, Use, operators_of, steps_of
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value
from onnxwright.semantics.ops import Ops
from onnxwright.tracing.carrying import RULES, Carrier, meet
from onnxwright.tracing.replay import Env, Replay
from onnxwright.types.kinds import OnnxType

# How many ways to match a pattern of several results are tried at one node.
MOST_MATCHES = 64


class Rewriter:
    """Rules, and what they were used for.

    Args:
        rules: the rules, in order; of those that match, the one with the larger pattern is used.
        scope: which of them may be used.
        strict: whether an error in a replacement is raised; else the nodes stay as they are.
        metadata: how the metadata of matched nodes becomes that of the new ones.

    Attributes:
        fired: how often each rule was used.
        failures: what went wrong inside of replacements: rule -> message.
        refusals: why what replacements gave was not used: rule -> reason.
        functions: functions that replacements call.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        scope: Scope,
        *,
        strict: bool = False,
        metadata: MetadataMerger | None = None,
    ) -> None:
        self.scope = scope
        self.strict = strict
        self.metadata = metadata or MetadataMerger()
        self.fired: Counter[str] = Counter()
        self.failures: dict[str, str] = {}
        self.refusals: dict[str, str] = {}
        self.functions: dict[Any, ir.Function] = {}
        self.index = pattern_index(rules, scope)
        # Nodes that make a result which is replaced already.
        self.taken: set[ir.Node] = set()
        # Node of the graph -> the largest of what was replaced there.
        self._replaced: dict[ir.Node, _Nodes] = {}
        self._uses: dict[_Nodes, Use] = {}

    @property
    def steps(self) -> list[Step]:
        """What each rule did."""
        return steps_of(self._uses.values())

    def attempts(
        self, entries: Iterable[Entry], node: ir.Node, replay: Replay, env: Env
    ) -> Iterator[Attempt]:
        """The rules that match at a node of a finished graph, in the order in which they are tried.

        Args:
            entries: the patterns that may lie there, as `index` finds them.
            node: the node.
            replay: the replay that built the graph.
            env: the values that are computed before the node.
        """
        for rule, pattern, root in entries:
            if rule.functions and any(f.identifier() == replay.function for f in rule.functions):
                continue  # the body of the function does not call it
            matcher = Matcher(pattern, replay.imports, shared=rule.always)
            for match in islice(matcher.at(node, root), MOST_MATCHES):
                if not self._undoes_more(match, node):
                    yield Attempt(self, rule, match, node, replay, env)

    def again(self) -> Rewriter:
        """A rewriter of the same rules that has not been used."""
        fresh = copy(self)
        fresh.fired, fresh.failures, fresh.refusals, fresh.functions = Counter(), {}, {}, {}
        fresh.taken, fresh._replaced, fresh._uses = set(), {}, {}
        return fresh

    def _undoes_more(self, match: Match, node: ir.Node) -> bool:
        """Whether something larger was replaced inside: what is left is for the next round."""
        size = len(match.nodes)
        if any(r in self.taken for r in match.roots if r is not node):
            return True  # another match makes that result already
        replacements = (
            [self._replaced.get(n) for n in match.nodes.values()] if self._replaced else []
        )
        return any(k is not None and len(k.nodes) > size for k in replacements)

    def note(self, rule: Rule, match: Match, use: Use) -> None:
        """Remember what was replaced, and count it; what lies inside of it is not counted again."""
        nodes = frozenset(match.nodes.values())
        for before in {self._replaced[n] for n in nodes if n in self._replaced}:
            if before.nodes < nodes:
                self._uses.pop(before, None)
                self.fired[before.rule] -= 1
                if not self.fired[before.rule]:
                    del self.fired[before.rule]
        replaced = _Nodes(rule.name, nodes)
        self._uses[replaced] = use
        self.fired[rule.name] += 1
        for node in nodes:
            before_it = self._replaced.get(node)
            if before_it is None or len(before_it.nodes) <= len(nodes):
                self._replaced[node] = replaced


@dataclass(frozen=True, eq=False)
class _Nodes:
    """What a rule was used for: its name and the nodes."""

    rule: str
    nodes: frozenset[ir.Node]


class Replaced(NamedTuple):
    """What takes the place of a match.

    Fields:
        results: the values that are replaced, each with the one that takes its place; empty where
            that is what was there.
        fresh: the new nodes.
    """

    results: list[tuple[ir.Value, GraphValue]]
    fresh: list[ir.Node]


class Attempt:
    """One rule at one place."""

    def __init__(
        self,
        rewriter: Rewriter,
        rule: Rule,
        match: Match,
        node: ir.Node,
        replay: Replay,
        env: Env,
    ) -> None:
        self.rewriter = rewriter
        self.rule = rule
        self.match = match
        self.node = node
        self.replay = replay
        self.b = replay.b
        self.env = env

    def replace(self) -> Replaced | None:
        """What takes the place of the match; None where the rule declines or may not be used."""
        if self._touches_kept() or any(v in self.env for v in self._other_results()):
            return None
        # The match asks this object, and this object has the match: in the end neither stays.
        self.match.resolve, self.match.call = self._value, self._called
        try:
            return self._replace()
        finally:
            self.match.forget()

    def _replace(self) -> Replaced | None:
        bound = self._bound()
        if bound is None:
            return None
        nodes = self.b.recorder.scope.nodes
        before = len(nodes)
        values = self._replacement(bound)
        if values is None:
            return None
        fresh = nodes[before:]
        self._check_keywords(fresh)
        kinds = self._kinds(values)
        if kinds is None:
            return None
        added = computed(values, fresh, self.b)
        if self._grows(added):
            self._declined("it would add more nodes than it takes away (`grows=True` allows that)")
            return None
        if self._is_same(values):
            return Replaced([], [])
        gone = taken_away(self.match.nodes.values(), self.env, values, added)
        use = Use(self.rule.name, operators_of(gone), operators_of(added))
        self.rewriter.note(self.rule, self.match, use)
        self._note(fresh)
        return Replaced(self._results(values, kinds, fresh), fresh)

    def _other_results(self) -> list[ir.Value]:
        """The results of the other roots of the match."""
        return [v for root in self.match.roots if root is not self.node for v in root.outputs]

    def _touches_kept(self) -> bool:
        keep = self.rewriter.scope.keep
        if not keep:
            return False
        if any(v.name in keep for n in self.match.nodes.values() for v in n.outputs):
            return True
        # What a replacement would make of a weight that is kept is computed at each run.
        held = [v for v in self.match.values.values() if isinstance(v, ir.Value)]
        return any(v.name in keep and v.is_initializer() for v in held)

    def _bound(self) -> dict[str, Any] | None:
        """What the pattern bound, as values of the new graph; None where one is not made yet."""
        bound: dict[str, Any] = {"match": self.match, **self.match.attributes}
        for name, value in self.match.values.items():
            if isinstance(value, list):
                items = [self._value(v) for v in value]
                if any(i is None for i in items):
                    self._too_early(name)
                    return None
                bound[name] = items
            elif value is None:
                bound[name] = None
            else:
                new_value = self._value(value)
                if new_value is None:
                    self._too_early(name)
                    return None
                bound[name] = new_value
        return bound

    def _too_early(self, name: str) -> None:
        first = self.node.outputs[0].name
        self._declined(
            f"its result `{first}` is computed before the value of `{name}`, so one node cannot "
            "take the place of all results there"
        )

    def _value(self, value: ir.Value | None) -> GraphValue | None:
        if value is None:
            return None
        graph_value = self.env.get(value)
        if graph_value is None and value.const_value is not None and value.producer() is None:
            graph_value = self.replay.value(value, self.env)
        return graph_value

    def _replacement(self, bound: dict[str, Any]) -> list[GraphValue] | None:
        origin = props_of(self.match.roots[0]).get(ORIGIN)
        try:
            with self.b.from_origin(origin):
                if self.rule.functions:
                    inputs = [bound.get(v.name or "") for v in self.rule.functions[-1].inputs]
                    return self._call(self.rule.functions, inputs)
                returned = self.rule.replace(Ops(self.b), bound)
        except (OnnxwrightError, UnknownError) as error:
            # What does not fit here is not a reason to lose the model: the nodes stay.
            if self.rewriter.strict:
                self.raise_failed(str(error).split("\n", 1)[0])
            self.rewriter.failures.setdefault(self.rule.name, str(error))
            return None
        except Exception as error:  # noqa: BLE001 - said again with the rule and the node
            shown = f"{type(error).__name__}: {error}"
            if not self.rule.of_library:
                self.raise_failed(shown)
            # The nodes contradict what their operators are: they stay, as does their error.
            self.rewriter.failures.setdefault(self.rule.name, shown)
            return None
        if returned is None:
            return None
        values = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        count = len(self.match.pattern.results)
        if len(values) != count:
            fail(messages.WrongResults(
                rule=self.rule.name, returned=_counted(len(values)), expected=_counted(count)
            ))  # fmt: skip
        if any(v is None for v in values):
            return None
        return [v if isinstance(v, GraphValue) else as_value(self.b, v) for v in values]

    def _check_keywords(self, fresh: Sequence[ir.Node]) -> None:
        """Refuse `outputs=` and `name=` for `_outputs=` and `_name=` where any keyword is taken."""
        attributes = {a for node in self.match.nodes.values() for a in node.attributes}
        for node in fresh:
            if not node.domain or node.op_identifier() in self.rewriter.functions:
                continue
            for keyword in ("outputs", "name"):
                if keyword in node.attributes and keyword not in attributes:
                    if keyword == "name" and node.name:
                        continue  # `_name=` is given as well
                    self.raise_failed(
                        f"`{keyword}=` would be an attribute of `{node.domain}.{node.op_type}`; "
                        f"{_MEANT[keyword]}"
                    )

    def raise_failed(self, reason: str) -> NoReturn:
        """Say that the replacement raised an error, and where it was used."""
        fail(messages.ReplacementFailed(
            rule=self.rule.name, node=_shown(self.match.roots[0]), reason=_plain(reason)
        ))  # fmt: skip

    def _declined(self, reason: str) -> None:
        self.rewriter.refusals.setdefault(self.rule.name, reason)

    def _called(self, script: Any, *values: Any) -> Any:
        """A call of a script as a function of the model: `match.call` of replacements."""
        functions = script.lowered_functions(self.rewriter.scope.version)
        arguments = [v if isinstance(v, GraphValue) else as_value(self.b, v) for v in values]
        outputs = self._call(functions, arguments)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _call(
        self, functions: Sequence[ir.Function], inputs: Sequence[GraphValue | None]
    ) -> list[GraphValue]:
        """A call node of the last of some functions, which the model then has."""
        function = functions[-1]
        for one in functions:
            self.rewriter.functions[one.identifier()] = one
        outputs = self.b.recorder.node(
            function.domain, function.name, [None if v is None else v.value for v in inputs], [],
            len(function.outputs), overload=function.overload, origin=self.b.origin(),
        )  # fmt: skip
        self.b.recorder.use_opset(function.domain, 1, None)
        return [self.b.wrap(v, None) for v in outputs]

    # -- checks --------------------------------------------------------------------------------

    def _kinds(self, values: Sequence[GraphValue]) -> list[OnnxType | None] | None:
        """The types of the results, if they are surely those of what is replaced."""
        kinds: list[OnnxType | None] = []
        for value, old, result in zip(
            values, self.match.kinds, self.match.pattern.results, strict=True
        ):
            source = self.match.nodes[result.node].outputs[result.index]
            if source.is_graph_output():
                old = without_new_names(old, source)
            if not fits(old, value.kind, names=not self.replay.verbatim):
                self._declined(f"the result would be {value.kind}, not {old}")
                return None
            kinds.append(meet(value.kind, old))
        return kinds

    def _grows(self, added: Sequence[ir.Node]) -> bool:
        """Whether more nodes are added than taken away; what weights alone make does not count."""
        if self.rule.grows:
            return False
        removed = sum(not is_frozen(n) for n in self.match.nodes.values())
        return len(added) > removed

    def _is_same(self, values: Sequence[GraphValue]) -> bool:
        """Whether the replacement is what was there."""
        if len(self.match.nodes) != 1 or len(values) != 1:
            return False
        (old,) = self.match.nodes.values()
        new = values[0].value.producer()
        if new is None or new.op_type != old.op_type or new.domain != old.domain:
            return False
        inputs = [None if v is None else self._value(v) for v in old.inputs]
        same = [None if g is None else g.value for g in inputs] == list(new.inputs)
        return same and _attributes(old) == _attributes(new)

    # -- results -------------------------------------------------------------------------------

    def _note(self, fresh: Sequence[ir.Node]) -> None:
        self.rewriter.metadata.copy_merged_metadata(self.match.nodes.values(), fresh)
        root = self.match.roots[0]
        for node in fresh:
            before = props_of(node).get(RULES)
            names = [] if before is None else before.split(", ")
            if self.rule.name not in names:
                node.metadata_props[RULES] = ", ".join([*names, self.rule.name])
        if fresh and not fresh[-1].name:
            fresh[-1].name = root.name
        origins = dict.fromkeys(
            props_of(n)[ORIGIN] for n in self.match.nodes.values() if ORIGIN in props_of(n)
        )
        if len(origins) > 1:
            for node in fresh:
                node.metadata_props[ORIGINS] = "; ".join(origins)

    def _results(
        self,
        values: Sequence[GraphValue],
        kinds: Sequence[OnnxType | None],
        fresh: Sequence[ir.Node],
    ) -> list[tuple[ir.Value, GraphValue]]:
        results = []
        carrier = (self.replay.carrier or Carrier()).inner()  # names are given when it is put in
        for value, kind, result in zip(values, kinds, self.match.pattern.results, strict=True):
            if kind != value.kind and value.value.producer() is not None:
                self.b.recorder.set_type(value.value, kind)
                adapters.set_type(value.value, kind)
                value = self.b.wrap(value.value, kind)
            source = self.match.nodes[result.node].outputs[result.index]
            results.append((source, carrier.result(self.b, source, value, fresh)))
        return results


def _shown(node: ir.Node) -> str:
    """A node as a line of a program."""
    outputs = ", ".join(str(v.name) for v in node.outputs)
    inputs = ", ".join("" if v is None else str(v.name) for v in node.inputs)
    return _plain(f"{outputs} = {node.op_type}({inputs})")


def _plain(text: str) -> str:
    return text.replace("{", "(").replace("}", ")")


def _counted(count: int) -> str:
    return "one value" if count == 1 else f"{count} values"


_MEANT = {
    "outputs": "the number of outputs is given as `_outputs=`",
    "name": "the name of a node is given as `_name=` (with both, `name=` is an attribute)",
}

ORIGINS = "onnxwright.origins"
"""Where the nodes come from that a rule put one in the place of."""


def _attributes(node: ir.Node) -> dict[str, Any]:
    return {a.name: None if a.is_ref() else a.value for a in node.attributes.values()}
