"""`Rewriter`: puts replacements where rules match, as the handler of a replay."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn

import onnx_ir as ir

from onnxwright.builder.carrying import RULES, Carrier, meet, note_nodes
from onnxwright.builder.context import BuildContext
from onnxwright.builder.replay import Env, Replay, Results
from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import rules as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import OnnxwrightError
from onnxwright.ir import adapters
from onnxwright.ir.builder import ORIGIN
from onnxwright.operators.op_call import UnknownError
from onnxwright.optimizer.constants import tensor_of
from onnxwright.optimizer.match import Match
from onnxwright.optimizer.matching import Matcher
from onnxwright.optimizer.patterns import Pattern
from onnxwright.optimizer.rules import Rule
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value
from onnxwright.semantics.ops import Ops
from onnxwright.types.kinds import OnnxType, SequenceType, TensorType

# How many ways to match a pattern of several results are tried at one node.
MOST_MATCHES = 64


@dataclass(frozen=True)
class Scope:
    """Which rules may be used.

    Fields:
        level: "exact" or "rounding".
        assume: what the caller promises of all inputs.
        target: the runtime the model is for.
        version: the opset version that is built.
        keep: names of values that stay as they are.
    """

    level: str
    assume: frozenset[str]
    target: str
    version: int
    keep: frozenset[str] = frozenset()

    def allows(self, rule: Rule) -> bool:
        """Whether a rule may be used."""
        if rule.level == "rounding" and self.level == "exact":
            return False
        if rule.target not in ("any", self.target) or self.target in rule.avoid:
            return False
        return rule.since <= self.version <= rule.until and rule.assume <= self.assume


class Rewriter:
    """Asked for each node of a replay; the rules whose first result it makes are tried.

    Args:
        rules: the rules, in order; of those that match, the one with the larger pattern is used.
        scope: which of them may be used.
        strict: whether an error in a replacement is raised; else the nodes stay as they are.

    Attributes:
        fired: how often each rule was used.
        failures: what went wrong inside of replacements: rule -> message.
        refusals: why what replacements gave was not used: rule -> reason.
        functions: functions that replacements call.
    """

    def __init__(self, rules: Iterable[Rule], scope: Scope, *, strict: bool = False) -> None:
        self.scope = scope
        self.strict = strict
        self.fired: Counter[str] = Counter()
        self.failures: dict[str, str] = {}
        self.refusals: dict[str, str] = {}
        self.functions: dict[Any, ir.Function] = {}
        self._table: dict[tuple[str, str], list[tuple[Rule, Pattern]]] = {}
        made = [r.for_version(scope.version) for r in rules if scope.allows(r)]
        pairs = [(r, p) for r in made for p in r.patterns]
        pairs.sort(key=lambda pair: -len(pair[1].nodes))
        for rule, pattern in pairs:
            key = (pattern.root.domain, pattern.root.op_type)
            self._table.setdefault(key, []).append((rule, pattern))
        self._done: dict[ir.Node, Results] = {}
        # Node of the source graph -> the largest of what was replaced there.
        self._replaced: dict[ir.Node, _Replaced] = {}

    def __call__(
        self, replay: Replay, node: ir.Node, _inputs: Sequence[GraphValue | None], env: Env
    ) -> Results | None:
        """The results of a node that a rule takes the place of; None where none does."""
        before = self._done.pop(node, None)
        if before is not None:
            return before
        tried = self._table.get((node.domain, node.op_type))
        if tried is None:
            return None
        makers = {maker.op_type for v in node.inputs if v is not None and (maker := v.producer())}
        for rule, pattern in tried:
            if not pattern.needs <= makers:
                continue
            if any(f.identifier() == replay.function for f in rule.functions):
                continue  # the body of the function does not call it
            matcher = Matcher(pattern, replay.imports, shared=rule.always)
            for match in islice(matcher.at(node), MOST_MATCHES):
                if self._undoes_more(match):
                    continue
                made = _Attempt(self, rule, match, replay, env).made()
                if made is not None:
                    results = made.pop(node)
                    self._done.update(made)
                    return results
        return None

    def _undoes_more(self, match: Match) -> bool:
        """Whether something larger was replaced inside: what is left is for the next round."""
        size = len(match.nodes)
        if any(r in self._done for r in match.roots[1:]):
            return True  # another match makes that result already
        known = [self._replaced.get(n) for n in match.nodes.values()]
        return any(k is not None and len(k.nodes) > size for k in known)

    def note(self, rule: Rule, match: Match) -> None:
        """Remember what was replaced, and count it; what lies inside of it is not counted again."""
        nodes = frozenset(match.nodes.values())
        for before in {self._replaced[n] for n in nodes if n in self._replaced}:
            if before.nodes < nodes:
                self.fired[before.rule] -= 1
                if not self.fired[before.rule]:
                    del self.fired[before.rule]
        made = _Replaced(rule.name, nodes)
        self.fired[rule.name] += 1
        for node in nodes:
            known = self._replaced.get(node)
            if known is None or len(known.nodes) <= len(nodes):
                self._replaced[node] = made


@dataclass(frozen=True, eq=False)
class _Replaced:
    """What a rule was used for: its name and the nodes."""

    rule: str
    nodes: frozenset[ir.Node]


class _Attempt:
    """One rule at one place."""

    def __init__(
        self, rewriter: Rewriter, rule: Rule, match: Match, replay: Replay, env: Env
    ) -> None:
        self.rewriter = rewriter
        self.rule = rule
        self.match = match
        self.replay = replay
        self.b = replay.b
        self.env = env

    def made(self) -> dict[ir.Node, Results] | None:
        """For each root its results; None where the rule declines or may not be used here."""
        if self._touches_kept() or any(v in self.env for v in self._other_results()):
            return None
        bound = self._bound()
        if bound is None:
            return None
        nodes = self.b.recorder.scope.nodes
        before = len(nodes)
        values = self._replacement(bound)
        if values is None:
            return None
        fresh = nodes[before:]
        kinds = self._kinds(values)
        if kinds is None:
            return None
        if self._grows(values, fresh):
            self._declined("it would add more nodes than it takes away (`grows=True` allows that)")
            return None
        if not self._is_same(values):
            self.rewriter.note(self.rule, self.match)
            self._note(fresh)
        return self._results(values, kinds, fresh)

    def _other_results(self) -> list[ir.Value]:
        """The results beside the first one; where one is made already, its readers have it."""
        return [v for root in self.match.roots[1:] for v in root.outputs]

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
        self.match.resolve = self._value
        self.match.call = self._called
        bound: dict[str, Any] = {"match": self.match, **self.match.attributes}
        for name, value in self.match.values.items():
            if isinstance(value, list):
                items = [self._value(v) for v in value]
                if any(i is None for i in items):
                    return None
                bound[name] = items
            elif value is None:
                bound[name] = None
            else:
                made = self._value(value)
                if made is None:
                    return None
                bound[name] = made
        return bound

    def _value(self, value: ir.Value | None) -> GraphValue | None:
        if value is None:
            return None
        found = self.env.get(value)
        if found is None and value.const_value is not None and value.producer() is None:
            found = self.replay.value(value, self.env)
        return found

    def _replacement(self, bound: dict[str, Any]) -> list[GraphValue] | None:
        origin = self.match.roots[0].metadata_props.get(ORIGIN)
        try:
            with self.b.from_origin(origin):
                if self.rule.functions:
                    inputs = [bound.get(v.name or "") for v in self.rule.functions[-1].inputs]
                    return self._call(self.rule.functions, inputs)
                given = self.rule.replace(Ops(self.b), bound)
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
        if given is None:
            return None
        values = list(given) if isinstance(given, (tuple, list)) else [given]
        wanted = len(self.match.pattern.results)
        if len(values) != wanted:
            fail(messages.WrongResults(
                rule=self.rule.name, given=_counted(len(values)), wanted=_counted(wanted),
                span=user_span(),
            ))  # fmt: skip
        if any(v is None for v in values):
            return None
        return [v if isinstance(v, GraphValue) else as_value(self.b, v) for v in values]

    def raise_failed(self, reason: str) -> NoReturn:
        """Say that the replacement raised an error, and where it was used."""
        fail(messages.ReplacementFailed(
            rule=self.rule.name, node=_shown(self.match.roots[0]), reason=_plain(reason),
            span=user_span(),
        ))  # fmt: skip

    def _declined(self, reason: str) -> None:
        self.rewriter.refusals.setdefault(self.rule.name, reason)

    def _called(self, script: Any, *values: Any) -> Any:
        """A call of a script as a function of the model: `match.call` of replacements."""
        functions = script.lowered_functions(self.rewriter.scope.version)
        given = [v if isinstance(v, GraphValue) else as_value(self.b, v) for v in values]
        made = self._call(functions, given)
        return made[0] if len(made) == 1 else tuple(made)

    def _call(
        self, functions: Sequence[ir.Function], inputs: Sequence[GraphValue | None]
    ) -> list[GraphValue]:
        """A call node of the last of some functions, which the model then has."""
        function = functions[-1]
        for one in functions:
            self.rewriter.functions[one.identifier()] = one
        made = self.b.recorder.node(
            function.domain, function.name, [None if v is None else v.value for v in inputs], [],
            len(function.outputs), overload=function.overload, origin=self.b.origin(),
        )  # fmt: skip
        self.b.recorder.use_opset(function.domain, 1, None)
        return [self.b.wrap(v, None) for v in made]

    # -- checks --------------------------------------------------------------------------------

    def _kinds(self, values: Sequence[GraphValue]) -> list[OnnxType | None] | None:
        """The types of the results, if they are surely those of what is replaced."""
        found: list[OnnxType | None] = []
        for value, old, result in zip(
            values, self.match.kinds, self.match.pattern.results, strict=True
        ):
            source = self.match.nodes[result.node].outputs[result.index]
            if source.is_graph_output():
                old = _without_new_names(old, source)
            if not fits(old, value.kind, names=not self.replay.verbatim):
                self._declined(f"the result would be {value.kind}, not {old}")
                return None
            found.append(meet(value.kind, old))
        return found

    def _grows(self, values: Sequence[GraphValue], fresh: Sequence[ir.Node]) -> bool:
        """Whether more nodes are added than taken away; what weights alone make does not count."""
        if self.rule.grows:
            return False
        added = _computed(values, fresh, self.b)
        removed = sum(not _is_frozen(n) for n in self.match.nodes.values())
        return len(added) > removed

    def _is_same(self, values: Sequence[GraphValue]) -> bool:
        """Whether the replacement is what was there."""
        if len(self.match.nodes) != 1 or len(values) != 1:
            return False
        (old,) = self.match.nodes.values()
        new = values[0].value.producer()
        if new is None or new.op_type != old.op_type or new.domain != old.domain:
            return False
        given = [None if v is None else self._value(v) for v in old.inputs]
        same = [None if g is None else g.value for g in given] == list(new.inputs)
        return same and _attributes(old) == _attributes(new)

    # -- results -------------------------------------------------------------------------------

    def _note(self, fresh: Sequence[ir.Node]) -> None:
        note_nodes(fresh, list(self.match.nodes.values()))
        root = self.match.roots[0]
        for node in fresh:
            before = node.metadata_props.get(RULES)
            names = [] if before is None else before.split(", ")
            if self.rule.name not in names:
                node.metadata_props[RULES] = ", ".join([*names, self.rule.name])
        if fresh and not fresh[-1].name:
            fresh[-1].name = root.name
        origins = dict.fromkeys(
            n.metadata_props[ORIGIN]
            for n in self.match.nodes.values()
            if ORIGIN in n.metadata_props
        )
        if len(origins) > 1:
            for node in fresh:
                node.metadata_props[ORIGINS] = "; ".join(origins)

    def _results(
        self,
        values: Sequence[GraphValue],
        kinds: Sequence[OnnxType | None],
        fresh: Sequence[ir.Node],
    ) -> dict[ir.Node, Results]:
        results: dict[ir.Node, list[GraphValue | None]] = {
            root: [None] * len(root.outputs) for root in self.match.roots
        }
        carrier = self.replay.carrier or Carrier(names=False)
        for value, kind, result in zip(values, kinds, self.match.pattern.results, strict=True):
            node = self.match.nodes[result.node]
            if kind != value.kind and value.value.producer() is not None:
                self.b.recorder.set_type(value.value, kind)
                adapters.set_type(value.value, kind)
                value = self.b.wrap(value.value, kind)
            source = node.outputs[result.index]
            results[node][result.index] = carrier.result(self.b, source, value, fresh)
        return dict(results)


def _shown(node: ir.Node) -> str:
    """A node as a line of a program."""
    outputs = ", ".join(str(v.name) for v in node.outputs)
    inputs = ", ".join("" if v is None else str(v.name) for v in node.inputs)
    return _plain(f"{outputs} = {node.op_type}({inputs})")


def _plain(text: str) -> str:
    return text.replace("{", "(").replace("}", ")")


def _counted(count: int) -> str:
    return "one value" if count == 1 else f"{count} values"


ORIGINS = "onnxwright.origins"
"""Where the nodes come from that a rule put one in the place of."""


def fits(old: OnnxType | None, new: OnnxType | None, *, names: bool = True) -> bool:
    """Whether a value of one type may surely take the place of one of another.

    Args:
        old: the type of what is replaced.
        new: the type of what takes its place.
        names: whether dimensions of different names are different; names that nobody inferred
            (as `M` of an output that is `3*N`) may be equal all the same.

    Returns:
        False where element types, ranks or known dimensions differ.

    Example:
        >>> from onnxwright.types.dtypes import DType
        >>> fits(TensorType(DType.FLOAT, ("N", 4)), TensorType(DType.FLOAT, ("N", None)))
        True
        >>> fits(TensorType(DType.FLOAT, ("N", 4)), TensorType(DType.FLOAT, (1, 4)))
        False
    """
    if isinstance(old, SequenceType) and isinstance(new, SequenceType):
        return fits(old.elem, new.elem, names=names)
    if not isinstance(old, TensorType) or not isinstance(new, TensorType):
        return old is None or new is None or old == new
    if old.dtype is not None and new.dtype is not None and old.dtype is not new.dtype:
        return False
    if old.shape is None or new.shape is None:
        return True
    if len(old.shape) != len(new.shape):
        return False
    return all(
        a is None or b is None or a == b
        or (not names and isinstance(a, str) and isinstance(b, str))
        for a, b in zip(old.shape, new.shape, strict=True)
    )  # fmt: skip


def _without_new_names(kind: OnnxType | None, output: ir.Value) -> OnnxType | None:
    """The declared type of a graph output, without dimensions in names that no input has."""
    if not isinstance(kind, TensorType) or not any(isinstance(d, str) for d in kind.shape or ()):
        return kind
    inputs = output.graph.inputs if output.graph is not None else ()
    known = {n for v in inputs for d in v.shape or () for n in _NAME.findall(str(d))}
    shape = [
        None if isinstance(d, str) and not known.issuperset(_NAME.findall(d)) else d
        for d in kind.shape or ()
    ]
    return TensorType(kind.dtype, tuple(shape))


_NAME = re.compile(r"[^\W\d]\w*")


def _computed(
    values: Sequence[GraphValue], fresh: Sequence[ir.Node], b: BuildContext
) -> list[ir.Node]:
    """The new nodes that the results need and that are not made of constants alone."""
    inside = set(fresh)
    frozen = {node for node in fresh if _is_made_of_constants(node, b)}
    found: dict[ir.Node, None] = {}
    waiting = [v.value.producer() for v in values]
    while waiting:
        maker = waiting.pop()
        if maker is None or maker not in inside or maker in found or maker in frozen:
            continue
        found[maker] = None
        waiting += [v.producer() for v in maker.inputs if v is not None]
    return list(found)


def _is_made_of_constants(node: ir.Node, b: BuildContext, steps: int = 8) -> bool:
    """Whether constants alone lead to a new node; an earlier replacement may have made some."""
    if not any(node.inputs):
        return False
    for value in node.inputs:
        if value is None or value in b.pool:
            continue
        maker = value.producer()
        if maker is None or not steps or not _is_made_of_constants(maker, b, steps - 1):
            return False
    return True


def _is_frozen(node: ir.Node) -> bool:
    """Whether a node of the source graph reads constants alone."""
    return bool(node.inputs) and all(v is None or tensor_of(v) is not None for v in node.inputs)


def _attributes(node: ir.Node) -> dict[str, Any]:
    return {a.name: None if a.is_ref() else a.value for a in node.attributes.values()}


__all__ = ["ORIGINS", "Rewriter", "Scope", "fits"]
