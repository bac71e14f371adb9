"""Patterns: functions over `op` traced once into a small graph that is looked for in models."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import onnx_ir as ir

from onnxwright.diagnostics.catalogue import rules as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.optimizer.pattern_nodes import (
    Attr,
    AttributeVariable,
    Attrs,
    Computed,
    Const,
    Literal,
    Output,
    PatternError,
    PatternNode,
    PatternOps,
    PatternValue,
    Rest,
    RestOfAttributes,
    Variable,
)

# Each of these doubles the ways a pattern may lie in a graph.
MOST_COMMUTATIVE = 6


def _fail(rule: str, reason: str) -> NoReturn:
    shown = reason.replace("{", "(").replace("}", ")")
    fail(messages.NotAPattern(rule=rule, reason=shown))


class Pattern:
    """A small graph to look for.

    Args:
        results: its results, outputs of its nodes.
        parameters: the names it binds, in order.

    Attributes:
        root: the node that makes the first result.
        nodes: all nodes, the root first.
    """

    def __init__(self, results: Sequence[Output], parameters: Sequence[str], name: str) -> None:
        self.name = name
        self.results = list(results)
        self.parameters = list(parameters)
        self.root = results[0].node
        self.roots = list(dict.fromkeys(r.node for r in results))
        self.nodes = _reachable(self.roots)
        commutative = sum(_has_two_orders(n) for n in self.nodes)
        if commutative > MOST_COMMUTATIVE:
            fail(messages.TooManyOrders(
                rule=name, count=commutative, most=MOST_COMMUTATIVE
            ))  # fmt: skip
        for other in self.roots[1:]:
            if not _variables(other):
                _fail(name, f"the result `{other!r}` reads nothing that the first result reads")

    @classmethod
    def traced(cls, function: Callable[..., Any], name: str | None = None) -> Pattern:
        """The pattern that a function over `op` describes.

        Args:
            function: takes `op` and the values, constants and attributes left open.
            name: the name of the rule, for messages.

        Returns:
            The pattern.

        Raises:
            ScriptValueError: it returns something else than values it computes (OW850), has too
                many commutative operators (OW851), or calls an unknown operator (OW850).
        """
        shown = name or str(getattr(function, "__name__", repr(function)))
        if not callable(function):
            _fail(shown, f"it is of type {type(function).__name__}, and a function is needed")
        op, *parameters = inspect.signature(function).parameters.values()
        hints = {p.name: _hint(p) for p in parameters}
        args: list[Any] = [PatternOps()]
        kwargs: dict[str, Any] = {}
        for p in parameters:
            placeholder = _placeholder(p, hints[p.name])
            if p.kind is p.VAR_POSITIONAL:
                args.append(placeholder)
            elif p.kind is p.KEYWORD_ONLY:
                kwargs[p.name] = placeholder
            else:
                args.append(placeholder)
        del op
        try:
            result = function(*args, **kwargs)
        except PatternError as error:
            _fail(shown, str(error))
        results = result if isinstance(result, tuple) else (result,)
        for one in results:
            if isinstance(one, Variable):
                _fail(shown, f"it returns its parameter `{one.name}`")
        if not results or not all(isinstance(r, Output) for r in results):
            _fail(shown, f"it returns {result!r}")
        pattern = cls(results, [p.name for p in parameters], shown)
        unused = [p.name for p in parameters if p.name not in _used(pattern)]
        if unused:
            _fail(shown, f"it does not use its parameter `{unused[0]}`")
        return pattern

    @classmethod
    def of_function(cls, function: ir.Function) -> Pattern:
        """The pattern of a function's body.

        Args:
            function: a function of onnx_ir without attribute parameters.

        Returns:
            The pattern; its parameters are the inputs.
        """
        if function.attributes:
            shown = ", ".join(f"`{name}`" for name in function.attributes)
            _fail(function.name, f"the script has attribute parameters ({shown})")
        by_value: dict[ir.Value, PatternValue] = {
            v: Variable(v.name or f"x{n}") for n, v in enumerate(function.inputs)
        }
        for node in function:
            if node.op_type == "Constant" and not node.domain and "value" in node.attributes:
                array = node.attributes["value"].as_tensor().numpy()
                by_value[node.outputs[0]] = Literal(array.tolist())
                continue
            inputs = [None if v is None else by_value[v] for v in node.inputs]
            values = {a.name: a.value for a in node.attributes.values()}
            new = PatternNode(node.op_type, node.domain, inputs, values, len(node.outputs), None)
            by_value.update({v: Output(new, n) for n, v in enumerate(node.outputs)})
        results = [by_value[v] for v in function.outputs]
        if not all(isinstance(r, Output) for r in results):
            _fail(function.name, "it returns an input or a constant")
        names = [v.name or f"x{n}" for n, v in enumerate(function.inputs)]
        return cls([r for r in results if isinstance(r, Output)], names, function.name)


def _used(pattern: Pattern) -> set[str]:
    """The names of the values and attributes that a pattern reads."""
    names: set[str] = set()
    for node in pattern.nodes:
        names.update(v.name for v in node.inputs if isinstance(v, Variable))
        names.update(v.name for v in node.attributes.values() if isinstance(v, AttributeVariable))
        if node.rest is not None:
            names.add(node.rest.name)
    return names


def _hint(parameter: inspect.Parameter) -> Any:
    hint = parameter.annotation
    if isinstance(hint, str):
        return _HINTS.get(hint.split("|")[0].strip().rsplit(".", 1)[-1])
    inside = [a for a in typing.get_args(hint) if a in _HINTS.values()]
    return inside[0] if inside else hint


_HINTS = {"Const": Const, "Computed": Computed, "Attr": Attr, "Attrs": Attrs}


def _placeholder(parameter: inspect.Parameter, hint: Any) -> Any:
    if hint is Attr:
        return AttributeVariable(parameter.name)
    if hint is Attrs:
        return RestOfAttributes(parameter.name)
    constant = True if hint is Const else False if hint is Computed else None
    if parameter.kind is parameter.VAR_POSITIONAL:
        return Rest(parameter.name, constant=constant)
    optional = parameter.default is None
    return Variable(parameter.name, constant=constant, optional=optional)


def _has_two_orders(node: PatternNode) -> bool:
    """Whether both orders of the inputs must be tried to the end: a literal settles it at once."""
    a, *others = node.inputs or (None,)
    literal = any(isinstance(v, Literal) for v in node.inputs)
    return node.commutative and not literal and any(v is not a for v in others)


def _reachable(roots: Sequence[PatternNode]) -> list[PatternNode]:
    reached: dict[PatternNode, None] = {}
    waiting = list(roots)[::-1]
    while waiting:
        node = waiting.pop()
        if node in reached:
            continue
        reached[node] = None
        waiting += [v.node for v in node.inputs if isinstance(v, Output)]
    return list(reached)


def _variables(root: PatternNode) -> list[Variable]:
    return [v for node in _reachable([root]) for v in node.inputs if isinstance(v, Variable)]


__all__ = ["MOST_COMMUTATIVE", "Attr", "Attrs", "Computed", "Const", "Pattern"]
