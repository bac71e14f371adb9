"""The HIR as text, close to Python, with the facts that stages add; for before/after tests."""

from __future__ import annotations

from onnxwright.converter.frontend import hir

_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "neg": "-", "pos": "+", "invert": "~", "not_": "not ",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "is": "is", "is_not": "is not", "in": "in", "not_in": "not in",
}  # fmt: skip


def text(block: hir.Block) -> str:
    """Statements as lines; facts of a statement (`live_out`, `carried`, ...) follow its head.

    Args:
        block: the statements of a function.

    Returns:
        One statement a line, blocks indented by two spaces.
    """
    return "\n".join(line for s in block for line in _lines(s)) or "(nothing)"


def _lines(s: hir.Statement) -> list[str]:
    if isinstance(s, hir.Assign):
        annotation = f": {s.annotation}" if s.annotation is not None else ""
        targets = " = ".join(map(_target, s.targets))
        return [f"{targets}{annotation} = {_expr(s.value)}"]
    if isinstance(s, hir.If):
        lines = [f"if {_expr(s.test)}:{_facts(s)}", *_indented(s.then)]
        return [*lines, "else:", *_indented(s.orelse)] if s.orelse else lines
    if isinstance(s, hir.For):
        head = f"for {_target(s.target)} in {_expr(s.iterable)}:{_facts(s)}"
        return [head, *_indented(s.body), *(["else:", *_indented(s.orelse)] if s.orelse else [])]
    if isinstance(s, hir.While):
        head = f"while {_expr(s.test)}:{_facts(s)}"
        return [head, *_indented(s.body), *(["else:", *_indented(s.orelse)] if s.orelse else [])]
    if isinstance(s, hir.Define):
        return [f"def {_head(s.function)}:", *_indented(s.function.body)]
    if isinstance(s, hir.Return):
        return ["return" if s.value is None else f"return {_expr(s.value)}"]
    if isinstance(s, hir.Evaluate):
        return [_expr(s.value)]
    if isinstance(s, hir.Assert):
        return [f"assert {_expr(s.test)}"]
    if isinstance(s, hir.Raise):
        return ["raise" if s.exception is None else f"raise {_expr(s.exception)}"]
    if isinstance(s, hir.Delete):
        return [f"del {s.id}"]
    return [type(s).__name__.lower()]


def _indented(block: hir.Block) -> list[str]:
    return [f"  {line}" for s in block for line in _lines(s)] or ["  pass"]


def _facts(s: hir.If | hir.For | hir.While) -> str:
    facts = []
    for name in ("broken", "carried", "live_out", "keep", "until"):
        value = getattr(s, name, None)
        if value:
            shown = " ".join(value) if isinstance(value, tuple) else value
            facts.append(f"{name}={_expr(value) if name == 'until' else shown}")  # type: ignore[arg-type]
    return f"  # {', '.join(facts)}" if facts else ""


def _target(target: hir.Target) -> str:
    if isinstance(target, hir.NameTarget):
        return target.id
    if isinstance(target, hir.ItemTarget):
        return f"{target.id}[{_expr(target.index)}]"
    items = [
        f"*{_target(t)}" if n == target.star else _target(t) for n, t in enumerate(target.items)
    ]
    return f"({', '.join(items)})"


def _head(f: hir.LocalFunction) -> str:
    return f"{f.name}({', '.join(p.name for p in f.params)})"


def _expr(node: hir.Expr | None) -> str:  # noqa: C901 - one case for each kind of expression
    if node is None:
        return ""
    if isinstance(node, hir.Name):
        return node.id
    if isinstance(node, hir.Literal):
        return repr(node.value)
    if isinstance(node, hir.Attribute):
        return f"{_expr(node.value)}.{node.name}"
    if isinstance(node, hir.Subscript):
        return f"{_expr(node.value)}[{_expr(node.index)}]"
    if isinstance(node, hir.SliceExpr):
        return ":".join(map(_expr, (node.lower, node.upper, node.step)))
    if isinstance(node, hir.Display):
        return f"{node.kind}({', '.join(map(_expr, node.items))})"
    if isinstance(node, hir.Unary):
        return f"({_OPERATORS[node.op]}{_expr(node.operand)})"
    if isinstance(node, hir.Binary):
        return f"({_expr(node.left)} {_OPERATORS[node.op]} {_expr(node.right)})"
    if isinstance(node, hir.Comparison):
        pairs = zip(node.ops, node.rest, strict=True)
        return "".join(
            [f"({_expr(node.first)}", *(f" {_OPERATORS[o]} {_expr(r)}" for o, r in pairs), ")"]
        )
    if isinstance(node, hir.Logic):
        return f"({f' {node.op} '.join(map(_expr, node.operands))})"
    if isinstance(node, hir.Conditional):
        return f"({_expr(node.then)} if {_expr(node.test)} else {_expr(node.orelse)})"
    if isinstance(node, hir.Star):
        return f"*{_expr(node.value)}"
    if isinstance(node, hir.Call):
        named = [f"{key}={_expr(v)}" if key else f"**{_expr(v)}" for key, v in node.keywords]
        return f"{_expr(node.func)}({', '.join([*map(_expr, node.args), *named])})"
    if isinstance(node, hir.Walrus):
        return f"({node.name} := {_expr(node.value)})"
    if isinstance(node, hir.LocalFunction):
        return f"<{_head(node)}: {text(node.body)}>"
    return f"<{type(node).__name__}>"
