"""Files written for onnxscript or torch.onnx, rewritten for this package: imports and names."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

# Modules of onnxscript that are here under the same name.
_SAME = frozenset({"onnx_opset", "onnx_types", "values", "evaluator", "tensor", "testing"})
# What is here under another name or in another form: a note, the file is not changed there.
_OTHER = {
    "optimizer": "`onnxwright.optimize(model)` returns the optimized model",
    "rewriter": "rules have another form: see `onnxwright.rule` and `onnxwright.rewrite`",
    "version_converter": "`onnxwright.convert_version(model, version)` returns the converted model",
    "function_libs": "PyTorch's operators are in `onnxwright.atenlib`",
    "ir": "the package `onnx_ir` is the same IR: `import onnx_ir as ir`",
    "nn": "there are no modules: use `onnxwright.GraphBuilder`",
    "utils": "it has no counterpart",
    "backend": "`onnxwright.to_script(model)` writes a model as Python",
}
# Modules of torch.onnx that are here under the same name.
_MODULES_HERE = ("utils", "symbolic_helper")
_REMAINDER = "`%` of floating-point tensors has the sign of the divisor here: see `op.Mod(fmod=1)`"


@dataclass(frozen=True, order=True)
class Note:
    """A place that needs a look.

    Fields:
        line: its line, from 1.
        text: what is different there.
    """

    line: int
    text: str


@dataclass(frozen=True)
class Migrated:
    """What came of a file.

    Fields:
        text: the new text; the old one where nothing changes.
        notes: places that mean something else here, or have no counterpart.
    """

    text: str
    notes: tuple[Note, ...]


def migrate(text: str) -> Migrated:
    """Rewrite the imports of a file written for onnxscript or torch.onnx.

    Calls of `torch.onnx.export` become calls of `torch_onnx.export`, with the import they need.

    Args:
        text: the text of a Python file.

    Returns:
        The new text, with notes on what it does not settle.

    Raises:
        SyntaxError: it is not Python.

    Example:
        >>> migrate("from onnxscript import script").text
        'from onnxwright import script'
    """
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    edits: list[_Edit] = []
    notes: list[Note] = []
    imported = _imports(tree, edits, notes)
    exports = _torch_exports(tree, edits, notes)
    if imported:
        _names(tree, edits, notes)
        notes += [
            Note(node.lineno, _REMAINDER)
            for node in ast.walk(tree)
            if isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mod)
            and not isinstance(node.left, (ast.Constant, ast.JoinedStr))
        ]
    for edit in sorted(set(edits), reverse=True):
        lines[edit.line - 1] = _replaced(lines[edit.line - 1], edit)
    if exports and not _imports_torch_onnx(tree):
        at = _after_imports(tree, min(e.line for e in edits if e.text == "torch_onnx"))
        lines.insert(at, "from onnxwright import torch_onnx\n")
    return Migrated("".join(lines), tuple(sorted(set(notes))))


@dataclass(frozen=True, order=True)
class _Edit:
    """Bytes of one line that give way to a text; columns are those of `ast`: of UTF-8."""

    line: int
    start: int
    end: int
    text: str


def _replaced(line: str, edit: _Edit) -> str:
    data = line.encode()
    return (data[: edit.start] + edit.text.encode() + data[edit.end :]).decode()


def _imports(tree: ast.AST, edits: list[_Edit], notes: list[Note]) -> bool:
    """Imports of onnxscript; whether there are any."""
    found = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] != "onnxscript":
                    continue
                found = True
                if len(parts) > 1 and parts[1] not in _SAME:
                    notes.append(Note(node.lineno, _without(alias.name, parts[1])))
                    continue
                edits.append(_word(alias.lineno, alias.col_offset))
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            parts = (node.module or "").split(".")
            if parts[0] != "onnxscript":
                continue
            found = True
            if len(parts) > 1 and parts[1] not in _SAME:
                notes.append(Note(node.lineno, _without(".".join(parts), parts[1])))
                continue
            missing = list(_missing(parts, node))
            if missing:
                notes += missing
                continue
            edits.append(_word(node.lineno, node.col_offset + len("from ")))
    return found


def _word(line: int, start: int) -> _Edit:
    return _Edit(line, start, start + len("onnxscript"), "onnxwright")


def _missing(parts: list[str], node: ast.ImportFrom) -> Iterator[Note]:
    """Names of an import that this package does not have: the statement is left as it is."""
    home = importlib.import_module(".".join(["onnxwright", *parts[1:]]))
    for alias in node.names:
        if alias.name != "*" and (alias.name in _OTHER or not hasattr(home, alias.name)):
            yield Note(node.lineno, _without(f"{'.'.join(parts)}.{alias.name}", alias.name))


def _without(name: str, part: str) -> str:
    return f"`{name}` is not in onnxwright: {_OTHER.get(part, 'there is no counterpart')}"


def _names(tree: ast.AST, edits: list[_Edit], notes: list[Note]) -> None:
    """`onnxscript.x` in the code, where the module was imported under its own name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id != "onnxscript":
                continue
            if node.attr in _OTHER:
                notes.append(Note(node.lineno, _without(f"onnxscript.{node.attr}", node.attr)))
        if isinstance(node, ast.Name) and node.id == "onnxscript":
            edits.append(_word(node.lineno, node.col_offset))


def _torch_exports(tree: ast.Module, edits: list[_Edit], notes: list[Note]) -> bool:
    """Names of torch.onnx, and imports from it; whether code now needs `torch_onnx`."""
    torches = _names_of_torch(tree)
    rewritten = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_torch_onnx(node.value, torches):
            name, value = node.attr, node.value
            if _is_here(name):
                if value.lineno == value.end_lineno and value.end_col_offset is not None:
                    start, end = value.col_offset, value.end_col_offset
                    edits.append(_Edit(value.lineno, start, end, "torch_onnx"))
                    rewritten = True
            elif not hasattr(_torch_onnx(), name):
                notes.append(Note(node.lineno, _no_name_of_torch(name)))
        elif isinstance(node, ast.ImportFrom) and not node.level:
            _from_torch_onnx(node, edits, notes)
        _torch_alias(tree, node, edits, notes)
    return rewritten


def _torch_onnx() -> ModuleType:
    return importlib.import_module("onnxwright.torch_onnx")


def _is_here(name: str) -> bool:
    """Whether a name of torch.onnx has an object of its own here, not PyTorch's."""
    return name in _torch_onnx().__all__ or name in _MODULES_HERE


def _no_name_of_torch(name: str) -> str:
    try:
        getattr(_torch_onnx(), name)
    except AttributeError as error:
        reason = str(error).rpartition(": ")[2] if ": " in str(error) else ""
        return f"`torch.onnx.{name}` has no counterpart here" + (reason and f": {reason}")
    return f"`torch.onnx.{name}` has no counterpart here"


def _from_torch_onnx(node: ast.ImportFrom, edits: list[_Edit], notes: list[Note]) -> None:
    """`from torch.onnx import ...`, and from those of its modules that are here."""
    module = node.module or ""
    if module != "torch.onnx" and module.partition("torch.onnx.")[2] not in _MODULES_HERE:
        return
    home = importlib.import_module(module.replace("torch.onnx", "onnxwright.torch_onnx", 1))
    missing = [a.name for a in node.names if a.name != "*" and not hasattr(home, a.name)]
    if missing:
        notes.append(Note(node.lineno, _no_name_of_torch(missing[0])))
        return
    start = node.col_offset + len("from ")
    edits.append(_Edit(node.lineno, start, start + len("torch.onnx"), "onnxwright.torch_onnx"))


def _names_of_torch(tree: ast.AST) -> frozenset[str]:
    """The names under which a file has torch: `torch`, and those of `import torch as th`."""
    found = {"torch"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {a.asname for a in node.names if a.name == "torch" and a.asname}
    return frozenset(found)


def _torch_alias(tree: ast.AST, node: ast.AST, edits: list[_Edit], notes: list[Note]) -> None:
    """`import torch.onnx as name` and `from torch import onnx`: the module under another name."""
    if isinstance(node, ast.Import):
        found = [(a, a.asname) for a in node.names if a.name == "torch.onnx" and a.asname]
        text = "onnxwright.torch_onnx as {}"
        for alias in node.names:
            module = alias.name.partition("torch.onnx.")[2]
            if alias.asname and alias.name.startswith("torch.onnx.") and module in _MODULES_HERE:
                start = alias.col_offset
                end = start + len("torch.onnx")
                edits.append(_Edit(alias.lineno, start, end, "onnxwright.torch_onnx"))
    elif isinstance(node, ast.ImportFrom) and node.module == "torch" and not node.level:
        found = [(a, a.asname or a.name) for a in node.names if a.name == "onnx"]
        text = "torch_onnx as {}"
        if found and len(node.names) > 1:
            notes.append(
                Note(node.lineno, "`onnx` of torch: import `onnxwright.torch_onnx` for it")
            )
            return
    else:
        return
    for alias, name in found:
        known = importlib.import_module("onnxwright.torch_onnx")
        used = {
            (n.lineno, n.attr)
            for n in ast.walk(tree)
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name
        }
        missing = sorted((line, attr) for line, attr in used if not hasattr(known, attr))
        notes += [Note(line, _no_name_of_torch(attr)) for line, attr in missing]
        if not missing and alias.end_col_offset is not None:
            edits.append(
                _Edit(alias.lineno, alias.col_offset, alias.end_col_offset, text.format(name))
            )
            if isinstance(node, ast.ImportFrom):
                start = node.col_offset + len("from ")
                edits.append(_Edit(node.lineno, start, start + len("torch"), "onnxwright"))


def _imports_torch_onnx(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "onnxwright"
        and any(a.name == "torch_onnx" and not a.asname for a in node.names)
        for node in ast.walk(tree)
    )


def _is_torch_onnx(node: ast.expr, torches: frozenset[str]) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "onnx"
        and isinstance(node.value, ast.Name)
        and node.value.id in torches
    )


def _after_imports(tree: ast.Module, before: int) -> int:
    """How many lines are before the place of another import: after the imports that come first.

    `before` is the line of the first use: an import below it is not one of these.
    """
    found = 0
    for node in tree.body:
        if node.lineno >= before:
            break
        is_import = isinstance(node, (ast.Import, ast.ImportFrom))
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_import or (is_docstring and not found):
            found = node.end_lineno or node.lineno
    return found


__all__ = ["Migrated", "Note", "migrate"]
