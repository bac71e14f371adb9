"""Conditions on sizes in an `and` or `or` that another operand settles: they decide nothing.

`n > 1 and mask is None and causal` is False for all sizes where `causal` is False.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import operator
import re
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from onnxwright.diagnostics.span import Span
from onnxwright.exporter.places import line_of

# -- what is demanded of sizes: by operators, and by lines that refuse other sizes -----------------

_USER_LOC = re.compile(r"# (?P<tail>.*):(?P<line>\d+) in \S+\s*$")


def user_line(text: str, files: list[str]) -> Span | None:
    """The line that torch names by the end of its path.

    Args:
        text: what torch says of it.
        files: the files that it may be in.
    """
    match = _USER_LOC.search(text)
    if match is None:
        return None
    file = next((f for f in files if f.endswith(match["tail"])), None)
    return None if file is None else line_of(file, int(match["line"]))


def refuses_others(span: Span | None) -> bool:
    """Whether a line refuses what does not fulfil its condition.

    Args:
        span: the line; None where it is not known.
    """
    if span is None:
        return False
    inner = statement_at(span.file, span.line)
    if isinstance(inner, ast.Assert):
        return True
    if isinstance(inner, ast.If):
        return isinstance(inner.body[-1], ast.Raise)
    if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call):
        return ast.unparse(inner.value.func).startswith(("torch._check", "torch._assert"))
    return False


def statement_at(file: str, line: int) -> ast.stmt | None:
    """The innermost statement whose head has a line; None where the file has no source.

    Args:
        file, line: of Python.
    """
    inner: ast.stmt | None = None
    for node in _statements("".join(linecache.getlines(file))):
        if _head_covers(node, line) and (inner is None or node.lineno >= inner.lineno):
            inner = node
    return inner


@functools.lru_cache(maxsize=32)
def _statements(text: str) -> tuple[ast.stmt, ...]:
    """The statements of a file; none where it is not Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def _head_covers(node: ast.stmt, line: int) -> bool:
    """Whether a line is of a statement itself, not of its body."""
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    if isinstance(body, list) and body and not isinstance(node, ast.Expr):
        last = max(node.lineno, body[0].lineno - 1)
    return node.lineno <= line <= last


# -- settled ---------------------------------------------------------------------------------------

_PLAIN = (bool, int, float, str, bytes, type(None), torch.Tensor)
# Functions that only say how a program runs, the same for all sizes.
_MODES = ("is_compiling", "is_exporting", "is_torchdynamo_compiling", "is_torchdynamo_exporting",
          "is_grad_enabled", "is_tracing", "is_scripting")  # fmt: skip


class _UnknownError(Exception):
    """An operand whose value cannot be read without a side effect."""


def is_settled(frame: FrameType | None) -> bool:
    """Whether the condition that a frame asks now makes no difference for the line.

    The line is `x = a and b`, `return a and b`, or such a test, one operand is a comparison, and
    the operands after it give a constant truth value: that of the whole for each answer.

    Args:
        frame: of the function that asks for the truth of a condition on sizes.
    """
    if frame is None:
        return False
    statement = statement_at(frame.f_code.co_filename, frame.f_lineno)
    value = getattr(statement, "test", None) or getattr(statement, "value", None)
    if not isinstance(value, ast.BoolOp) or isinstance(statement, (ast.Expr, ast.AugAssign)):
        return False
    asked = [n for n, operand in enumerate(value.values) if not _is_known(operand, frame)]
    if len(asked) != 1 or not isinstance(value.values[asked[0]], ast.Compare):
        return False
    stop = isinstance(value.op, ast.Or)
    for operand in value.values[asked[0] + 1 :]:
        operand_value = _value(operand, frame)
        if isinstance(operand_value, torch.Tensor):
            return False
        if bool(operand_value) is stop:
            return operand_value is stop
    return False


def _is_known(operand: ast.expr, frame: FrameType) -> bool:
    try:
        _value(operand, frame)
    except _UnknownError:
        return False
    return True


def _value(node: ast.expr, frame: FrameType) -> Any:
    """The value of an operand that has no side effect and follows from no size."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return _plain(_named(node.id, frame))
    if isinstance(node, ast.Attribute):
        return _plain(_attribute(node, frame))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        operand = _value(node.operand, frame)
        if not isinstance(operand, torch.Tensor):
            return not operand
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            same = _value(node.left, frame) is _value(node.comparators[0], frame)
            return same is isinstance(node.ops[0], ast.Is)
        return _compared(node.ops[0], *(_value(n, frame) for n in (node.left, *node.comparators)))
    if isinstance(node, ast.Subscript):
        items, index = _attribute(node.value, frame), _value(node.slice, frame)
        if type(items) in (list, tuple, torch.Size) and type(index) is int:
            if -len(items) <= index < len(items):
                return _plain(items[index])
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        func = node.func
        called = _named(func.id, frame) if isinstance(func, ast.Name) else _attribute(func, frame)
        if getattr(called, "__name__", "") in _MODES:
            return _plain(called())
    raise _UnknownError


def _compared(op: ast.cmpop, left: Any, right: Any) -> bool:
    """A comparison of two numbers."""
    if type(op) not in _COMPARISONS or {type(left), type(right)} - {int, float, bool}:
        raise _UnknownError
    return bool(_COMPARISONS[type(op)](left, right))


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


def _plain(value: Any) -> Any:
    if type(value) in _PLAIN or isinstance(value, torch.Tensor):
        return value
    raise _UnknownError


def _named(name: str, frame: FrameType) -> Any:
    for names in (frame.f_locals, frame.f_globals, vars(builtins)):
        if name in names:
            return names[name]
    raise _UnknownError


def _attribute(node: ast.expr, frame: FrameType) -> Any:
    """An attribute of a module of Python or of PyTorch that is found without calling anything."""
    if isinstance(node, ast.Name):
        return _named(node.id, frame)
    if not isinstance(node, ast.Attribute):
        raise _UnknownError
    owner = _attribute(node.value, frame)
    names = getattr(owner, "__dict__", {})
    if node.attr not in names or hasattr(type(owner), node.attr):
        raise _UnknownError
    return names[node.attr]
