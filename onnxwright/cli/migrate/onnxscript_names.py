"""Files written for onnxscript: what is here under the same name, and what there is instead."""

from __future__ import annotations

import ast
import importlib
from types import ModuleType

from onnxwright.cli.migrate.source import Source

# Modules of onnxscript that are here under the same name.
_MODULES_HERE = frozenset({"onnx_opset", "onnx_types", "values", "evaluator", "tensor", "testing"})
_BUILDER = "`onnxwright.GraphBuilder()` builds models by calls, with other methods: see its guide"
# What is here in another form, by its dotted name in onnxscript; the longest that fits is said.
_INSTEAD = {
    "": "no counterpart",
    "optimizer": "`onnxwright.optimize(model)` returns the optimized model",
    "optimizer.inline": "use `onnxwright.inline(model)`, which returns the new model",
    "optimizer.fold_constants": "`onnxwright.fold_constants(model)` returns the new model",
    "optimizer.fold_constants_ir": "`onnxwright.fold_constants(model)` returns the new model",
    "optimizer.remove_unused_nodes": "`onnxwright.remove_unused(model)` returns the new model",
    "utils.replace": "`onnxwright.replace_functions(model, {name: function})` returns a new model",
    "rewriter": "rules have another form: see `onnxwright.rule` and `onnxwright.rewrite`",
    "rewriter.rewrite": "use `onnxwright.rewrite(model, rules)`; a rule has `@onnxwright.rule`",
    "rewriter.pattern": "a rule is a function with `@onnxwright.rule`; see `onnxwright.rewrite`",
    "rewriter.ort_fusions": '`onnxwright.optimize(model, target="onnxruntime")`',
    "rewriter.onnxruntime": '`onnxwright.optimize(model, target="onnxruntime")`',
    "version_converter": "`onnxwright.convert_version(model, version)` returns the converted model",
    "function_libs": "PyTorch's operators are in `onnxwright.atenlib`",
    "function_libs.torch_lib.ops": "`onnxwright.atenlib.find(name)` has PyTorch's operators",
    "function_libs.torch_lib.registration": "use the decorator `@onnxwright.aten(name, rule=...)`",
    "nn": "no modules here: use `onnxwright.GraphBuilder`",
    "backend": "`onnxwright.to_script(model)` writes a model as Python",
    "tools": "no counterpart; `onnxwright --help` lists the commands",
    "GraphBuilder": _BUILDER,
    "OpBuilder": _BUILDER,
    "BuilderBase": _BUILDER,
    "TapeBuilder": _BUILDER,
    "BuilderFeature": _BUILDER,
    "build_function": _BUILDER,
    "build_graph": _BUILDER,
    "external_tensor": "use `onnx_ir.ExternalTensor`",
    "DEBUG": "there is nothing to switch on: `onnxwright.debug(model, inputs)` runs node by node",
}
# Of the same name here, and something else.
_OTHER_MEANING = frozenset({"GraphBuilder"})
_REMAINDER = "`%` of floating-point tensors has the sign of the divisor here: see `op.Mod(fmod=1)`"

_SCALAR = "`{name}` alone is a tensor of any rank here; a scalar, as in onnxscript, is `{name}[()]`"


def rewrite_onnxscript(source: Source) -> None:
    """Rewrite the imports of onnxscript and the names in it."""
    bound = {b for node in source.nodes(ast.Import) for b in _import(source, node)}
    statements = [_import_from(source, node) for node in source.nodes(ast.ImportFrom)]
    if bound:
        _uses(source, "onnxscript", [], bound)
    if bound or any(statements):
        remainders: list[ast.BinOp | ast.AugAssign] = [*source.nodes(ast.BinOp)]
        remainders += source.nodes(ast.AugAssign)
        for node in remainders:
            if isinstance(node.op, ast.Mod) and not _is_text(node):
                source.note(node, _REMAINDER)
        _scalars(source)


def _is_text(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether `%` writes values into a text."""
    left = node.left if isinstance(node, ast.BinOp) else node.target
    text = isinstance(left, ast.Constant) and isinstance(left.value, (str, bytes))
    return text or isinstance(left, ast.JoinedStr)


def _is_here(path: list[str]) -> bool:
    """Whether a dotted name of onnxscript is here under the same name."""
    if not path:
        return True
    if path[0] in _MODULES_HERE:
        return len(path) == 1 or hasattr(_public("onnxwright", path[0]), path[1])
    if path[0] in _OTHER_MEANING or path[0] in _INSTEAD:
        return False
    return hasattr(_public("onnxwright"), path[0])


def _public(*parts: str) -> ModuleType:
    """A module with public names, as the migrated file will import it."""
    return importlib.import_module(".".join(parts))


def _instead(path: list[str]) -> str:
    for size in range(len(path), -1, -1):
        text = _INSTEAD.get(".".join(path[:size]))
        if text is not None:
            return f"`{'.'.join(['onnxscript', *path])}` is not in onnxwright: {text}"
    raise AssertionError


def _import(source: Source, node: ast.Import) -> set[str]:
    """`import onnxscript`, `import onnxscript.values as v`; the packages it imports afterwards."""
    bound = set()
    for alias in node.names:
        package, *path = alias.name.split(".")
        if package != "onnxscript":
            continue
        if path[:1] == ["ir"]:
            source.replace_name(alias, "onnxscript.ir", "onnx_ir")
            bound.add("onnx_ir")
        elif not path and _only_elsewhere(source, alias.asname or "onnxscript"):
            bound.add("onnxscript")
            if alias.asname:
                _noted_uses(source, alias.asname, path)
        elif not _is_here(path):
            source.note(node, _instead(path))
            bound.add("onnxscript")
            if alias.asname:
                _noted_uses(source, alias.asname, path)
        else:
            source.replace_name(alias, "onnxscript", "onnxwright")
            if alias.asname:
                _uses(source, alias.asname, path, set())
                bound.add(alias.asname)
            else:
                bound.add("onnxwright")
    return bound


def _scalars(source: Source) -> None:
    """Annotations such as `FLOAT` without brackets, which are scalars in models of onnxscript."""
    types = {
        alias.asname or alias.name
        for node in source.nodes(ast.ImportFrom)
        if (node.module or "").split(".")[0] == "onnxscript"
        for alias in node.names
        if alias.name.isupper()
    }
    for function in source.nodes(ast.FunctionDef):
        arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        for annotation in (*(a.annotation for a in arguments), function.returns):
            parts = annotation.elts if isinstance(annotation, ast.Tuple) else [annotation]
            for part in parts:
                if isinstance(part, ast.Name) and part.id in types and part.id != "DEBUG":
                    source.note(part, _SCALAR.format(name=part.id))


def _only_elsewhere(source: Source, name: str) -> bool:
    """Whether all that is used of the package is not here."""
    used = [[n.attr for n in chain][:2] for chain in source.uses(name)]
    return bool(used) and not any(path[0] == "ir" or _is_here(path) for path in used)


def _import_from(source: Source, node: ast.ImportFrom) -> bool:
    """`from onnxscript import ...`, and from its modules; whether it is one."""
    package, *home = (node.module or "").split(".")
    if package != "onnxscript" or node.level:
        return False
    if home[:1] == ["ir"]:
        source.replace_module(node, "onnxscript.ir", "onnx_ir")
        return True
    here, left, ir = [], [], []
    for alias in node.names:
        path = home if alias.name == "*" else [*home, alias.name]
        if path == ["ir"]:
            ir.append(alias)
        elif _is_here(path):
            here.append(alias)
            if alias.name in _MODULES_HERE and not home:
                _uses(source, alias.asname or alias.name, path, set())
        else:
            left.append(alias)
            source.note(node, _instead(path))
            _noted_uses(source, alias.asname or alias.name, path)
    others = []
    if ir:
        others += [f"import onnx_ir as {a.asname or 'ir'}" for a in ir]
    if left and (here or ir):
        others.append(f"from {node.module} import {', '.join(map(ast.unparse, left))}")
    if here:
        source.replace_module(node, "onnxscript", "onnxwright")
    if others:
        source.move_names(node, [*ir, *left], *others)
    return True


def _uses(source: Source, name: str, path: list[str], bound: set[str]) -> None:
    """What is used of a module that is imported as `name`: here, there, or of `onnx_ir`.

    `bound` has the packages that the file imports under their own names.
    """
    for chain in source.uses(name):
        used = [*path, *(n.attr for n in chain)]
        root = chain[0].value
        if used[0] == "ir":
            source.replace(*source.span(chain[0]), "onnx_ir")
            needed = "onnx_ir"
        elif _is_here(used[:2]):
            if name != "onnxscript":
                continue
            source.replace_name(root, name, "onnxwright")
            needed = "onnxwright"
        else:
            source.note(root, _instead(used))
            if path:
                continue
            source.replace_name(root, name, "onnxscript")
            needed = "onnxscript"
        if needed not in bound:
            source.need(f"import {needed}", root)
    if name == "onnxscript" and name not in bound:
        in_chains = {id(chain[0].value) for chain in source.uses(name)}
        for node in source.nodes(ast.Name):
            if node.id == name and id(node) not in in_chains:
                source.replace_name(node, name, "onnxwright")


def _noted_uses(source: Source, name: str, path: list[str]) -> None:
    """Where something that is not here is used: its attributes, or itself where it is called."""
    called = {id(n.func): n for n in source.nodes(ast.Call)}
    inside = set()
    for chain in source.uses(name):
        inside.add(id(chain[0].value))
        source.note(chain[0].value, _instead([*path, *(n.attr for n in chain)]))
    for node in source.nodes(ast.Name):
        if node.id == name and id(node) in called and id(node) not in inside:
            source.note(node, _instead(path))
