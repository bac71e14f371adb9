"""Programs for both sides of decisions by sizes, joined by If."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from onnxwright.atenlib.complexes import Complex
from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter.capture.assumptions.branches import Fork, Leaf, Tree
from onnxwright.exporter.translate.higher_order import body_of, packed, several, unpacked
from onnxwright.exporter.translate.translator import Translator

_RELATIONS = {
    "Equality": "eq",
    "Unequality": "ne",
    "StrictLessThan": "lt",
    "LessThan": "le",
    "StrictGreaterThan": "gt",
    "GreaterThan": "ge",
    "Mod": "mod",
    "PythonMod": "mod",
    "FloorDiv": "floordiv",
    "CleanDiv": "floordiv",
    "IntTrueDiv": "truediv",
    "FloatTrueDiv": "truediv",
    "Pow": "pow",
    "PowByNatural": "pow",
}
_FOLDED = {"Add": "add", "Mul": "mul", "And": "and_", "Or": "or_"}
_OF_ONE = {
    "Not": "_operator::not_",
    "CeilToInt": "math::ceil",
    "FloorToInt": "math::floor",
    "TruncToInt": "math::trunc",
    "ToFloat": "torch::sym_float",
}


def joined(
    t: Translator, tree: Tree, inputs: Sequence[Any], run: Callable[[Leaf], list[Any]]
) -> list[Any]:
    """The results of a tree of programs.

    Args:
        t: the translator.
        tree: the programs.
        inputs: the value of each flattened input of the module.
        run: translates a leaf and gives its results.

    Returns:
        The results; those that the sides compute differently are of an If.

    Raises:
        ExportError: the sides give results of other types or ranks, or other plain values (OW835).
    """
    if isinstance(tree, Leaf):
        return run(tree)
    condition = _value(t, tree.guard.expression, tree, inputs)
    found: dict[bool, list[Any]] = {}

    def side(holds: bool) -> Any:
        results = joined(t, tree.holds if holds else tree.fails, inputs, run)
        found[holds] = results
        return body_of(packed(t, [t.strong(r) for r in results if is_computed(r)]))

    made = t.op.If(condition, then_branch=lambda: side(True), else_branch=lambda: side(False))
    if len(found) == 2:  # else the condition is known, and one side is written
        _check_alike(tree, found[True], found[False])
    results = next(iter(found.values()))
    pairs = [isinstance(r, Complex) for r in results if is_computed(r)]
    values = iter(unpacked(t, several(made), pairs))
    return [next(values) if is_computed(r) else r for r in results]


def is_computed(result: Any) -> bool:
    """Whether a result is a value of the graph or a number, not None or a text."""
    return result is not None and not isinstance(result, str)


def _check_alike(fork: Fork, holds: list[Any], fails: list[Any]) -> None:
    """Check that an If can give the results of both sides."""
    if len(holds) != len(fails):
        _raise_unlike(fork, f"one gives {len(holds)} results, the other {len(fails)}")
    for n, (a, b) in enumerate(zip(holds, fails, strict=True)):
        if not is_computed(a) or not is_computed(b):
            if a != b:
                _raise_unlike(fork, f"result {n} is {a!r} on one, {b!r} on the other")
            continue
        one, other = _kind(a), _kind(b)
        if one != other:
            _raise_unlike(fork, f"result {n} is {one} on one, {other} on the other")


def _kind(value: Any) -> str:
    """Element type and rank of a result."""
    if isinstance(value, Complex):
        return f"a complex tensor of rank {value.real.rank}"
    if isinstance(value, (bool, int, float)):
        return f"a number ({type(value).__name__})"
    return f"{value.dtype} of rank {value.rank}"


def _raise_unlike(fork: Fork, reason: str) -> NoReturn:
    fail(
        messages.SizeBranchesDiffer(
            guard=fork.guard.text,
            reason=reason,
            hint="an `If` of ONNX has results of one type and rank: let both sides give the same, "
            "or export them as two models",
            span=fork.guard.span or user_span(),
        )
    )


def _value(t: Translator, expression: Any, fork: Fork, inputs: Sequence[Any]) -> Any:
    """The value of a sympy expression of sizes."""
    if expression.is_Symbol:
        n, axis = fork.places[str(expression)]
        if axis is None:
            return inputs[n]
        given = inputs[n].real if isinstance(inputs[n], Complex) else inputs[n]
        return _call(t, "aten::sym_size.int", given, axis)
    if expression.is_Integer:
        return int(expression)
    if expression.is_number:
        return float(expression)
    kind = type(expression).__name__
    parts = [_value(t, part, fork, inputs) for part in expression.args]
    if kind in _FOLDED:
        value = parts[0]
        for part in parts[1:]:
            value = _call(t, f"_operator::{_FOLDED[kind]}", value, part)
        return value
    if kind in _RELATIONS:
        return _call(t, f"_operator::{_RELATIONS[kind]}", *parts)
    if kind in _OF_ONE:
        return _call(t, _OF_ONE[kind], *parts)
    _raise_unlike(fork, f"the condition has a function ({kind}) that has no ONNX here")


def _call(t: Translator, name: str, *args: Any) -> Any:
    found = t.lowerings.find(name)
    assert found is not None, name
    return found.function(t.op, *args)
