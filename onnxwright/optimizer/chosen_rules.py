"""Rules and passes of the optimizer by what a caller gives: objects, or names of the library."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import rules as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.optimizer import library
from onnxwright.optimizer.rules import Rule
from onnxwright.optimizer.scope import Scope

# What is done beside the rules, and can be named like one.
PASSES = {
    "fold_batch_norms": "BatchNormalization after a convolution or product is part of its weights.",
    "fuse_operators": "RMSNormalization, RotaryEmbedding, heads that an Attention repeats itself.",
    "move_transposes": "Transposes move through regions where fewer of them are left.",
    "share_weights": "Equal weights are stored once.",
}


def library_rules() -> dict[str, Rule]:
    """The rules that `optimize` uses, by their names.

    Returns:
        Each rule under its name; it says what it does (`doc`) and what it needs (`level`, `since`,
        `target`, `assume`).

    Example:
        >>> rules = library_rules()
        >>> rules["relu_of_relu"].doc
        'Relu of a Relu.'
        >>> [name for name, rule in rules.items() if "gelu" in name and rule.target == "any"]
        ['gelu_erf', 'gelu_tanh', 'transposes_around_gelu']
    """
    return {rule.name: rule for rule in library.rules()}


def checked_rules(rules: Any) -> list[Rule]:
    """The rules that a caller gives: one, several or none; a name stands for one of the library.

    Args:
        rules: rules, names of rules, or None.

    Returns:
        The rules, each with a replacement.

    Raises:
        ScriptValueError: it is not a rule (OW853), or has no replacement (OW852).
    """
    entries = listed(rules)
    by_name = library_rules() if any(isinstance(one, str) for one in entries) else {}
    return [_rule(one, by_name, "rules") for one in entries]


def selected(
    rules: Any, only: Any, skip: Iterable[str], scope: Scope
) -> tuple[list[Rule], frozenset[str], Scope]:
    """The rules and the passes that a call of the optimizer uses.

    Args:
        rules: further rules, tried first.
        only: what is used in place of the whole library, rules and names of rules and passes; None
            for the whole library.
        skip: names of rules and passes that are left out.
        scope: which rules may be used; a warning names those that a caller asks for in vain.

    Returns:
        The rules in the order in which they are tried, the names of the passes, and the scope, in
        which rules that the caller names may do what they are not used for otherwise.
    """
    by_name = library_rules()
    left_out = {_name("skip", name, (*by_name, *PASSES)) for name in listed(skip)}
    further = checked_rules(rules)
    asked = further
    chosen, passes = list(by_name.values()), frozenset(PASSES)
    if only is not None:
        asked_for = listed(only)
        passes = frozenset(one for one in asked_for if one in PASSES)
        chosen = [_rule(one, by_name, "only") for one in asked_for if one not in passes]
        asked = [*further, *chosen]
    used = [*further, *(r for r in chosen if r.name not in left_out)]
    scope = replace(scope, asked=frozenset(asked))
    warn_of_others(asked, scope)
    return list(dict.fromkeys(used)), passes - left_out, scope


def warn_of_others(rules: Iterable[Rule], scope: Scope) -> None:
    """Warn of rules that a caller asks for and that may not be used (OW888)."""
    for one in dict.fromkeys(rules):
        reason = scope.reason_against(one)
        if reason is not None:
            warn(messages.RuleNotUsed(rule=one.name, reason=reason, span=user_span()))


def choice(name: str, value: str, choices: Sequence[str]) -> str:
    """A value that an option has, if it is one of those that it takes.

    Args:
        name: the option.
        value: the value.
        choices: the values that it takes.

    Returns:
        The value.

    Raises:
        ScriptValueError: it is none of them (OW853).
    """
    if value not in choices:
        fail(messages.BadOptimizerOption(
            name=name, value=repr(value), expected=", ".join(map(repr, choices))
        ))  # fmt: skip
    return value


def _name(option: str, asked: str, names: Sequence[str]) -> str:
    """The name of a rule or pass that an option has, if there is one; near names if not (OW853)."""
    if asked not in names:
        text = str(asked)
        near = difflib.get_close_matches(text, names, 3)
        near = near or [name for name in names if text and text.lower() in name][:3]
        fail(messages.BadOptimizerOption(
            name=option, value=repr(asked),
            expected="the name of a rule or pass; `ow.library_rules()` and `onnxwright rules` list "
            "them",
            suggestion=" or ".join(f"`{n}`" for n in near) or None
        ))  # fmt: skip
    return asked


def _rule(chosen: Any, rules: Mapping[str, Rule], option: str) -> Rule:
    if isinstance(chosen, str):
        names = tuple(rules) if option == "rules" else (*rules, *PASSES)
        chosen = rules[_name(option, chosen, names)]
    if not isinstance(chosen, Rule):
        fail(messages.BadOptimizerOption(
            name=option, value=f"an object of type {type(chosen).__name__}",
            expected="rules made with `ow.rule`, or names of rules of the library"
        ))  # fmt: skip
    chosen.check()
    return chosen


def listed(argument: Any) -> list[Any]:
    """One or several things as a list."""
    if argument is None:
        return []
    if (
        isinstance(argument, (str, Rule))
        or callable(argument)
        or not isinstance(argument, Iterable)
    ):
        return [argument]
    return list(argument)
