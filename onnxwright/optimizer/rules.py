"""Rules: a pattern, and a function that says what to build in its place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

from typing_extensions import TypedDict, Unpack

from onnxwright.diagnostics.catalogue import rules as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.optimizer.patterns import Pattern

LEVELS = ("exact", "rounding")

Replacement = Callable[..., Any]
_NOTHING: Any = object()


class Rule:
    """A pattern and what takes its place.

    Attributes:
        name: what reports and `skip=` call it.
        patterns: the pattern and its alternatives.
        replacement: called with `op` and what the pattern bound; None declines.
        since: the first opset version that has what the replacement needs.
        until: the last opset version it is meant for.
        level: "exact" (bits, NaN, -0.0, empty tensors) or "rounding".
        assume: what the caller must have promised, such as "nonempty".
        target: the runtime it is for; "any" for all.
        avoid: runtimes where the replacement is slower: it is not used for these, and for any
            runtime only where a caller names it.
        always: whether interior values may have other readers.
        grows: whether it may add more nodes than it takes away.
        late: whether it is tried only once no other rule matches anywhere.
        cases: inputs for its proof: a function of a random generator, or None.
        doc: what it does, in a sentence.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        since: int = 1,
        until: int = 1 << 30,
        level: str = "exact",
        assume: Iterable[str] = (),
        target: str = "any",
        avoid: Iterable[str] = (),
        always: bool = False,
        grows: bool = False,
        late: bool = False,
        cases: Any = None,
        pattern: Pattern | None = None,
    ) -> None:
        if level not in LEVELS:
            fail(messages.BadOptimizerOption(
                name="level", value=repr(level), expected=" or ".join(map(repr, LEVELS))
            ))  # fmt: skip
        self.name = name or str(getattr(function, "__name__", repr(function)))
        self.doc = inspect.getdoc(function) or ""
        self.patterns = [pattern or Pattern.traced(function, self.name)]
        self.replacement: Replacement | None = None
        self._parameters: Sequence[str] = ()
        self._before: Sequence[str] = ()  # those before `*rest`
        self._rest: str | None = None
        self.since = since
        self.until = until
        self.level = level
        self.assume = frozenset(assume)
        self.target = target
        self.avoid = frozenset(avoid)
        self.always = always
        self.grows = grows
        self.late = late
        self.cases = cases
        self.functions: Sequence[Any] = ()
        # Whether the package brings it: an error in its replacement is nothing a user can mend.
        self.of_library = False

    def also(self, function: Callable[..., Any]) -> Rule:
        """Add another form of the pattern; what it does not bind is None in the replacement.

        Args:
            function: the pattern, with parameters of the same names.

        Returns:
            The rule.
        """
        self.patterns.append(Pattern.traced(function, self.name))
        return self

    def to(self, function: Replacement) -> Rule:
        """Set what takes the pattern's place.

        Args:
            function: takes `op` and the pattern's parameters that it names (and `match`, if it
                wants to look at the matched nodes), and returns as many values as the pattern has
                results, or None to decline.

        Returns:
            The rule.

        Raises:
            ScriptNameError: it asks for a parameter that no pattern binds (OW852).
        """
        bound_names = {p for pattern in self.patterns for p in pattern.parameters}
        _, *parameters = inspect.signature(function).parameters.values()
        for p in parameters:
            if p.name not in bound_names and p.name != "match":
                fail(messages.BadReplacement(
                    rule=self.name, reason=f"no pattern binds `{p.name}`",
                    parameters=", ".join(sorted(bound_names))
                ))  # fmt: skip
        self._parameters = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
        place = next((n for n, p in enumerate(parameters) if p.kind is p.VAR_POSITIONAL), None)
        self._rest = None if place is None else parameters[place].name
        self._before = self._parameters[:place]
        self.replacement = function
        return self

    def check(self) -> None:
        """Raise if there is nothing to put in the pattern's place.

        Raises:
            ScriptValueError: it has no replacement (OW852).
        """
        if self.replacement is None and not self.functions and not isinstance(self, FunctionRule):
            fail(messages.BadReplacement(
                rule=self.name, reason="there is none: give it one with `.to`",
                parameters=", ".join(self.patterns[0].parameters)
            ))  # fmt: skip

    def replace(self, op: Any, bound: dict[str, Any]) -> Any:
        """What the replacement gives for what a match bound.

        Args:
            op: the operators to build with.
            bound: parameter -> value; the rest is None.

        Returns:
            Whatever it returns.
        """
        if self.replacement is None:
            fail(messages.BadReplacement(
                rule=self.name, reason="there is none",
                parameters=", ".join(self.patterns[0].parameters),
            ))  # fmt: skip
        if self._rest is not None:
            arguments = [bound.get(n) for n in self._before]
            rest = bound.get(self._rest) or ()
            after = {n: bound.get(n) for n in self._parameters if n not in self._before}
            return self.replacement(op, *arguments, *rest, **after)
        return self.replacement(op, **{n: bound.get(n) for n in self._parameters})

    def for_version(self, _version: int) -> Rule:
        """The rule for models of an opset version."""
        return self

    def __repr__(self) -> str:
        return f"<rule {self.name}>"


_OPTIONS = (
    "name",
    "since",
    "until",
    "level",
    "assume",
    "target",
    "avoid",
    "always",
    "grows",
    "late",
    "cases",
)


class FunctionRuleOptions(TypedDict, total=False):
    """The options of a rule that puts a call in, as type checkers read them; see `Rule`."""

    since: int
    until: int
    level: str
    assume: Iterable[str]
    target: str
    avoid: Iterable[str]
    always: bool
    grows: bool
    late: bool
    cases: Any


class RuleOptions(FunctionRuleOptions, total=False):
    """The options of a rule of a pattern."""

    name: str | None


class _RuleMaker:
    """`ow.rule`: makes a rule of a pattern function."""

    @overload
    def __call__(self, function: Callable[..., Any], /) -> Rule: ...

    @overload
    def __call__(
        self, /, **options: Unpack[RuleOptions]
    ) -> Callable[[Callable[..., Any]], Rule]: ...

    def __call__(
        self, function: Callable[..., Any] | None = None, /, **options: Unpack[RuleOptions]
    ) -> Any:
        """Make a rule; its replacement is given with `.to`.

        Args:
            function: the pattern: a function of `op` and the values it leaves open.
            options: `name`, `since`, `until`, `level`, `assume`, `target`, `avoid`, `always`,
                `grows`, `late`, `cases`; see `Rule`.

        Returns:
            The rule, or what makes one of a pattern function.

        Raises:
            ScriptValueError: the function is not a pattern (OW850, OW851), the level is
                not one (OW853).

        Example:
            >>> @rule
            ... def double_negation(op, x):
            ...     return -(-x)
            >>> @double_negation.to
            ... def _(op, x):
            ...     return x
            >>> double_negation
            <rule double_negation>
        """
        unknown = [name for name in options if name not in _OPTIONS]
        if unknown:
            fail(messages.BadOptimizerOption(
                name="rule", value=f"given `{unknown[0]}=`",
                expected=", ".join(f"`{n}=`" for n in _OPTIONS)
            ))  # fmt: skip
        if function is not None:
            return Rule(function, **options)
        return lambda f: Rule(f, **options)

    def function(self, script: Any, **options: Unpack[FunctionRuleOptions]) -> Rule:
        """A rule that puts a call of a script in place of the body of the script (outlining).

        Args:
            script: a `@script` function without attribute parameters.
            options: as for a rule.

        Returns:
            The rule; the model gets the function.
        """
        return FunctionRule(script, **options)


class FunctionRule(Rule):
    """A rule that puts a call of a function in place of its body."""

    def __init__(self, script: Any, **options: Unpack[FunctionRuleOptions]) -> None:
        self._script = script
        self._options = options
        super().__init__(
            script.function, name=f"{script.domain}.{script.name}", pattern=_NOTHING, **options
        )

    def for_version(self, _version: int) -> Rule:
        """The rule for models of an opset version."""
        functions = self._script.lowered_functions(_version)
        rule_of_version = Rule(
            self._script.function,
            name=self.name,
            pattern=Pattern.of_function(functions[-1]),
            **self._options,
        )
        rule_of_version.functions = tuple(functions)
        return rule_of_version


rule = _RuleMaker()
