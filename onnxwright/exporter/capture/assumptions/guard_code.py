"""Guards that an exported program keeps as text, `L['x'].size()[0] <= 8`, read without running it.

A program that was loaded from a file has no other record of what torch assumed about its sizes.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]  # it has no types; a dependency of torch
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from onnxwright.exporter.signature import inputs_of
from onnxwright.exporter.torch_internals import pytree
from onnxwright.exporter.torch_internals import size_functions as functions

_VARIADIC = re.compile(r"(?P<name>.+)_(?P<index>\d+)")
_LONGEST = 10_000


class _UnreadableError(Exception):
    """A part of a guard that is not about sizes, or not of a form that is known."""


def conditions_of(program: ExportedProgram) -> list[Any]:
    """The guards of a program as conditions over torch's symbols.

    Args:
        program: the program.

    Returns:
        Sympy expressions; guards about strides or objects, which are not about sizes, are not
        among them.
    """
    values = _values_by_path(program)
    conditions: list[Any] = []
    for text in program._guards_code:
        try:
            if len(text) <= _LONGEST:
                conditions.append(_read(ast.parse(text.strip(), mode="eval").body, values))
        except (SyntaxError, RecursionError, _UnreadableError, ArithmeticError, TypeError):
            continue
    return [c for c in conditions if getattr(c, "free_symbols", None)]


def _values_by_path(program: ExportedProgram) -> dict[str, Any]:
    """What guards call the inputs of a program -> the fake value of each."""
    users = [e for e in inputs_of(program) if e.kind is InputKind.USER_INPUT]
    values = [e.node.meta.get("val") for e in users]
    values_by_path = {_path(f"L['flat_args'][{n}]"): value for n, value in enumerate(values)}
    spec = program.call_spec.in_spec
    if spec is None or spec.num_leaves != len(values):
        return values_by_path
    signature = program.module_call_graph[0].signature
    names: Sequence[str] = (signature and signature.forward_arg_names) or ()
    numbered = pytree.tree_unflatten(list(range(len(values))), spec)
    for (part, key, *rest), n in pytree.tree_leaves_with_path(numbered):
        tail = pytree.keystr(rest)
        if part.idx == 1:
            heads = [f"L['{key.key}']", f"L['kwargs']['{key.key}']"]
        elif key.idx < len(names):
            name = names[key.idx]
            several = _VARIADIC.fullmatch(name)
            heads = [f"L['{name}']"]
            heads += [f"L['{several['name']}'][{several['index']}]"] if several else []
        else:
            heads = []
        for head in heads:
            values_by_path.setdefault(_path(head + tail), values[n])
    return values_by_path


def _path(text: str) -> str:
    """A path in one spelling; empty where it is not an expression of Python."""
    try:
        return ast.unparse(ast.parse(text, mode="eval"))
    except SyntaxError:
        return ""


def _read(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """An expression of Python over sizes as one of sympy.

    Args:
        node: the expression.
        values: path of an input -> its fake value.
    """
    read = functools.partial(_read, values=values)
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return sympy.sympify(value)
        case ast.Subscript(
            value=ast.Call(func=ast.Attribute(value=path, attr="size"), args=[]),
            slice=ast.Constant(value=int() as axis),
        ):
            tensor = values.get(ast.unparse(path))
            if isinstance(tensor, torch.Tensor) and axis < tensor.ndim:
                return _expression(tensor.shape[axis])
        case ast.Subscript() | ast.Attribute(value=ast.Subscript()):
            number = values.get(ast.unparse(node))
            if isinstance(number, (int, float, torch.SymInt)):
                return _expression(number)
        case ast.BoolOp(op=op, values=parts):
            return (sympy.And if isinstance(op, ast.And) else sympy.Or)(*map(read, parts))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return sympy.Not(read(operand))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -read(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](read(left), read(right))
        case ast.Compare(ops=ops) if all(type(op) in _COMPARISONS for op in ops):
            sides = [read(s) for s in (node.left, *node.comparators)]
            pairs = zip(ops, sides, sides[1:], strict=False)
            return sympy.And(*(_COMPARISONS[type(op)](a, b) for op, a, b in pairs))
        case ast.Call(func=func, args=given, keywords=[]) if ast.unparse(func) in _CALLS:
            return _CALLS[ast.unparse(func)](*map(read, given))
    raise _UnreadableError


def _expression(value: Any) -> Any:
    """A size as torch's symbol or as a number."""
    return value.node._expr if isinstance(value, torch.SymInt) else sympy.sympify(value)


def is_demand(condition: Any) -> bool:
    """Whether a guard may be what an operator demands of sizes, such as those of two operands.

    Args:
        condition: a sympy expression.
    """
    rounded = (functions.TruncToInt, functions.FloorToInt, functions.CeilToInt)
    return isinstance(condition, sympy.Eq) and not condition.has(*rounded)


def _power(base: Any, exponent: Any) -> Any:
    if exponent.is_number and abs(exponent) > 64:
        raise _UnreadableError  # nothing a size is raised to
    if exponent.is_number and not exponent.is_integer:
        return functions.FloatPow(base, exponent)
    return sympy.Pow(base, exponent)


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: functions.IntTrueDiv,
    ast.FloorDiv: functions.FloorDiv,
    ast.Mod: functions.PythonMod,
    ast.Pow: _power,
}
_COMPARISONS: dict[type[ast.cmpop], Any] = {
    ast.Eq: sympy.Eq,
    ast.NotEq: sympy.Ne,
    ast.Lt: sympy.Lt,
    ast.LtE: sympy.Le,
    ast.Gt: sympy.Gt,
    ast.GtE: sympy.Ge,
}
_CALLS: dict[str, Callable[..., Any]] = {
    "max": sympy.Max,
    "min": sympy.Min,
    "abs": sympy.Abs,
    "torch.sym_max": sympy.Max,
    "torch.sym_min": sympy.Min,
    "torch.sym_float": functions.ToFloat,
    "torch._sym_sqrt": functions.OpaqueUnaryFn_sqrt,
    "math.sqrt": functions.OpaqueUnaryFn_sqrt,
    "math.floor": functions.FloorToInt,
    "math.ceil": functions.CeilToInt,
    "math.trunc": functions.TruncToInt,
    "FloorDiv": functions.FloorDiv,
    "Mod": functions.PythonMod,
    "PythonMod": functions.PythonMod,
}
