"""Files that call torch.onnx: `onnxwright.torch_onnx` in its place, under whatever name it has."""

from __future__ import annotations

import ast
import importlib
from types import ModuleType

from onnxwright.cli.migrate.source import Source

# Modules of torch.onnx that are here under the same name.
_MODULES_HERE = ("utils", "symbolic_helper")


def rewrite_torch_onnx(source: Source) -> None:
    """Rewrite the imports of torch.onnx and the names in it."""
    torches = {"torch"}
    modules: dict[str, ast.Import | ast.ImportFrom] = {}
    for plain in source.nodes(ast.Import):
        for alias in plain.names:
            if alias.name == "torch" and alias.asname:
                torches.add(alias.asname)
            elif alias.name == "torch.onnx" and alias.asname:
                modules[alias.asname] = plain
            elif alias.name.startswith("torch.onnx.") and alias.asname:
                _submodule(source, plain, alias)
    for node in source.nodes(ast.ImportFrom):
        if node.module == "torch" and not node.level:
            modules |= {a.asname or a.name: node for a in node.names if a.name == "onnx"}
        elif (node.module or "").partition("torch.onnx")[:2] == ("", "torch.onnx"):
            _names(source, node)
    assigned = _assigned(source, torches)
    for name in sorted(torches):
        for chain in source.uses(name):
            if chain[0].attr == "onnx" and len(chain) > 1:
                _use(source, chain[1:], chain[0])
    for name, value in assigned.items():
        _assigned_module(source, name, value)
    for name, statement in modules.items():
        _module(source, name, statement)


def _assigned(source: Source, torches: set[str]) -> dict[str, ast.expr]:
    """Names that are given torch, added to `torches`, and those that are given torch.onnx."""
    assignments: list[tuple[str, ast.expr]] = []
    for node in source.nodes(ast.Assign):
        assignments += [(t.id, node.value) for t in node.targets if isinstance(t, ast.Name)]
    for one in source.nodes(ast.AnnAssign):
        if isinstance(one.target, ast.Name) and one.value is not None:
            assignments.append((one.target.id, one.value))
    assignments += [(node.target.id, node.value) for node in source.nodes(ast.NamedExpr)]
    before = -1
    while before != len(torches):
        before = len(torches)
        torches |= {n for n, v in assignments if isinstance(v, ast.Name) and v.id in torches}
    texts = {f"{name}.onnx" for name in torches}
    return {
        n: v for n, v in assignments if isinstance(v, ast.Attribute) and ast.unparse(v) in texts
    }


def _torch_onnx(*path: str) -> ModuleType:
    return importlib.import_module(".".join(["onnxwright.torch_onnx", *path]))


def _is_here(path: list[str]) -> bool:
    """Whether a name of torch.onnx has an object of its own here, not PyTorch's."""
    if path[0] in _MODULES_HERE:
        return len(path) == 1 or hasattr(_torch_onnx(path[0]), path[1])
    return path[0] in _torch_onnx().__all__


def _has(path: list[str]) -> bool:
    """Whether `onnxwright.torch_onnx` answers a name at all."""
    home = _torch_onnx(path[0]) if path[0] in _MODULES_HERE and len(path) > 1 else _torch_onnx()
    return hasattr(home, path[1] if home is not _torch_onnx() else path[0])


def _without(path: list[str]) -> str:
    reason = ""
    try:
        getattr(_torch_onnx(), path[0])
    except AttributeError as error:
        reason = str(error).rpartition(": ")[2] if ": " in str(error) else ""
    return f"`torch.onnx.{'.'.join(path)}` has no counterpart here" + (reason and f": {reason}")


def _use(source: Source, chain: list[ast.Attribute], module: ast.expr) -> None:
    """A name of torch.onnx in the code, after the expression of the module."""
    path = [n.attr for n in chain][:2]
    if _is_here(path):
        _replace_module(source, module)
    elif not _has(path):
        source.note(module, _without(path))


def _taken(source: Source) -> bool:
    """Whether the file has something else that is called `torch_onnx`."""
    ours = any(
        a.name == "torch_onnx" and not a.asname
        for n in source.nodes(ast.ImportFrom)
        if n.module == "onnxwright"
        for a in n.names
    )
    return "torch_onnx" in source.bound_names() and not ours


def _module(source: Source, name: str, node: ast.Import | ast.ImportFrom) -> None:
    """The module under another name: the import is changed, unless PyTorch's own is still used."""
    chains = list(source.uses(name))
    missing = [c for c in chains if not _has([n.attr for n in c][:2])]
    for chain in missing:
        source.note(chain[0], _without([n.attr for n in chain][:2]))
    if missing:
        for chain in chains:
            if chain not in missing:
                _use(source, chain, chain[0].value)
        return
    if isinstance(node, ast.Import):
        alias = next(a for a in node.names if a.asname == name and a.name == "torch.onnx")
        source.replace_name(alias, "torch.onnx", "onnxwright.torch_onnx")
    else:
        alias = next(a for a in node.names if a.name == "onnx" and (a.asname or a.name) == name)
        source.move_names(node, [alias], f"from onnxwright import torch_onnx as {name}")


def _assigned_module(source: Source, name: str, value: ast.expr) -> None:
    """`o = torch.onnx`: the value is changed, unless PyTorch's own is still used."""
    chains = list(source.uses(name))
    missing = [c for c in chains if not _has([n.attr for n in c][:2])]
    for chain in missing:
        source.note(chain[0], _without([n.attr for n in chain][:2]))
    for chain in chains if missing else ():
        if chain not in missing:
            _use(source, chain, chain[0].value)
    if chains and not missing:
        _replace_module(source, value)


def _replace_module(source: Source, module: ast.expr) -> None:
    """Put our module in the place of an expression that is PyTorch's."""
    statement, text = "from onnxwright import torch_onnx", "torch_onnx"
    if _taken(source):
        statement, text = "import onnxwright.torch_onnx", "onnxwright.torch_onnx"
    source.replace(*source.span(module), text)
    source.need(statement, module)


def _submodule(source: Source, node: ast.Import, alias: ast.alias) -> None:
    """`import torch.onnx.utils as u`."""
    path = alias.name.split(".")[2:]
    if path[0] in _MODULES_HERE:
        source.replace_name(alias, "torch.onnx", "onnxwright.torch_onnx")
    elif not _has(path):
        source.note(node, _without(path))


def _names(source: Source, node: ast.ImportFrom) -> None:
    """`from torch.onnx import ...`, and from its modules."""
    home = (node.module or "").split(".")[2:]
    if home and home[0] not in _MODULES_HERE:
        if not _has(home):
            source.note(node, _without(home))
        return
    paths = {a: [*home, a.name] for a in node.names}
    left = [a for a in node.names if a.name != "*" and not _has(paths[a])]
    for alias in left:
        source.note(node, _without(paths[alias]))
    if len(left) == len(node.names):
        return
    source.replace_module(node, "torch.onnx", "onnxwright.torch_onnx")
    if left:
        names = ", ".join(map(ast.unparse, left))
        source.move_names(node, left, f"from {node.module} import {names}")
