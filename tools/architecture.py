"""Who may import whom: reads every import of the package by `ast` and reports what breaks a rule.

Run it from the repository's root:

    python -m tools.architecture            # check the package, print what is wrong

The rules, each a kind of `Problem`:

* `upward`: a package imports itself and what stands below it; packages of one layer do not import
  each other.  Imports for type checkers only count too.  The folders of a package of `ROOMS` stand
  in layers as well.
* `cycle`: modules whose top-level imports go in a circle; within a package, imports for type
  checkers count as well.
* `hidden`: an import inside a function.  Allowed for heavy third-party packages, and for the
  entries of `LAZY`, each with its reason.
* `pin`: `onnxruntime`, `torch` and `onnx_ir` are imported in their homes only.
* `undeclared`: a third-party package that the project does not depend on.
* `stale`: an entry of `LAZY` that is not needed any more.
"""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "onnxwright"

# From the bottom up; a package sees itself and the layers below it.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "version", "deferred_sympy", "op_dispatch"),
    ("diagnostics",),
    ("types",),
    ("opset",),
    ("operators",),
    ("ir",),
    ("semantics", "compare"),
    ("tracing",),
    ("versions",),
    ("converter", "eager", "model_tools"),
    ("builder",),
    ("verification",),
    ("optimizer", "quantize", "decompiler", "viz"),
    ("atenlib", "dsl"),
    ("exporter",),
    ("testing",),
    ("sweep",),
    # The last are modules under names that other projects use.
    ("cli", "onnx_opset", "onnx_types", "values", "tensor", "evaluator", "torch_onnx", "mypy"),
    ("__main__",),
)

# The folders of a package, from the bottom up; "" is the modules beside them.
ROOMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "onnxwright.exporter.capture": (
        ("session",),
        ("graphs", "quantized"),
        ("control",),
        ("assumptions", "values"),
        ("lists",),
        ("decisions",),
        ("loops",),
        ("replacements",),
        ("inputs", "rewritten"),
        ("frontend",),
        ("",),
    ),
}

# First-party imports that are not at the top of a module, or that look upward:
# (module, imported module) -> reason.  "*" as the last part means every module of a package.
LAZY: dict[tuple[str, str], str] = {
    ("onnxwright.ir.loading", "onnxwright.ir.other_types"): (
        "models of onnx_ir alone need it, and onnx_ir is imported when the first one is opened"
    ),
    ("onnxwright.ir.loading", "onnxwright.ir.proto_reading"): (
        "models of onnx_ir alone need it, and onnx_ir is imported when the first one is opened"
    ),
    ("onnxwright.ir.model_protos", "onnxwright.ir.serialize"): (
        "models of onnx_ir alone need it, and onnx_ir is imported when the first one is opened"
    ),
    ("onnxwright.diagnostics.diagnostic", "onnxwright.diagnostics.render"): (
        "every program loads the messages; the first one that is shown loads how"
    ),
    ("onnxwright.diagnostics.diagnostic", "onnxwright.diagnostics.tracebacks"): (
        "IPython asks an error how it is shown, and a notebook only"
    ),
    ("onnxwright.viz.showing", "onnxwright.viz.page"): (
        "pages know what a run of eager mode gives; a listing loads none of it"
    ),
    ("onnxwright.viz.showing", "onnxwright.eager.debugging.debugger"): (
        "values of a debugged run are rare; a listing loads no eager mode"
    ),
    ("onnxwright.dsl.function", "onnxwright.converter.*"): (
        "decorating only registers; the first compile loads the converter"
    ),
    ("onnxwright.dsl.function", "onnxwright.dsl.*"): (
        "decorating only registers; the first compile loads what assembles models"
    ),
    ("onnxwright.dsl.conversions", "onnxwright.dsl.*"): (
        "decorating only registers; the first compile loads what assembles models"
    ),
    ("onnxwright.dsl.function", "onnxwright.eager.*"): (
        "decorating only registers; the first call loads the eager mode"
    ),
    ("onnxwright.dsl.conversions", "onnxwright.optimizer.optimize"): (
        "decorating only registers; the first script that is optimized loads the optimizer"
    ),
    ("onnxwright.dsl.function", "onnxwright.viz.*"): (
        "a notebook shows a function as a picture of what it compiles to"
    ),
    ("onnxwright.exporter.program.writable", "onnxwright.viz"): (
        "an export does not draw; the first program that is shown loads what draws"
    ),
    ("onnxwright.exporter.program.writable", "onnxwright.decompiler"): (
        "an export does not write Python; the first program that is written loads what does"
    ),
    ("onnxwright.versions.one_call", "onnxwright.versions.*"): (
        "few graphs mix opset versions; the first that does loads the adapters"
    ),
    ("onnxwright.optimizer.optimize", "onnxwright.verification.verifying"): (
        "only `verify=` runs models; else ONNX Runtime is not loaded"
    ),
    ("onnxwright.builder.running", "onnxwright.eager.ort.compiled_models"): (
        "building a graph needs no ONNX Runtime; the first run of one loads it"
    ),
    ("onnxwright.cli.*", "onnxwright.*"): "a command loads only what it runs",
}

# What the facade may import when it is imported itself.
_WITH_FACADE = frozenset({"errors", "version", "deferred_sympy", "op_dispatch", ""})

# Circles within a package that are still there, with the reason; the list can only shrink.
KNOWN_CIRCLES: dict[tuple[str, ...], str] = {}

# Third-party packages that may be imported inside functions: they are slow to import, and
# `import onnxwright` must not pay for them.
HEAVY = frozenset({"onnx", "onnx_ir", "onnxruntime", "ml_dtypes", "numpy", "torch"})

# Standard library modules that may be imported inside functions, because few programs need them.
RARE = frozenset(
    {"difflib", "importlib", "inspect", "linecache", "textwrap", "tokenize", "traceback", "json"}
)

# Where a package may be imported at all; the others are free from the layer of `ir` upward.
HOMES: dict[str, frozenset[str]] = {
    # `verification` compares what `eager` does with the runtime itself, not with what `eager` says.
    "onnxruntime": frozenset({"eager", "verification", "sweep"}),
    "torch": frozenset({"exporter", "sweep"}),
    "onnx_ir": frozenset(
        subpackage
        for layer in LAYERS[
            next(n for n, subpackages in enumerate(LAYERS) if "ir" in subpackages) :
        ]
        for subpackage in layer
    )
    | {""},  # the facade hands it out under the name `ir`
}

# What an extra installs, or a user may have: optional, imported inside functions, in one package.
OPTIONAL: dict[str, str] = {
    "pygraphviz": "viz",
    "netron": "cli",
    "mypy": "mypy",
    "onnxscript": "exporter",
    "transformers": "exporter",
    "dask": "sweep",
    "distributed": "sweep",
}

# Everything third-party that may appear.
DECLARED = frozenset(
    {"onnx", "onnx_ir", "onnxruntime", "numpy", "ml_dtypes", "typing_extensions", "torch"}
    | {"sympy"}  # torch's conditions on sizes are its expressions; torch brings it
)


@dataclass(frozen=True, order=True)
class Problem:
    """One broken rule, with its place."""

    path: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {self.text}"


@dataclass(frozen=True)
class Import:
    """One imported module as a file names it."""

    module: str  # the importing module
    target: str  # the imported module, as precise as the tree tells
    path: str
    line: int
    hidden: bool  # inside a function
    typing_only: bool  # under `if TYPE_CHECKING:`


def module_files(root: Path, package: str = PACKAGE) -> dict[str, Path]:
    """The modules of a package by dotted name, in order of name.

    Args:
        root: the folder that holds the package's folder.
        package: the package's name.

    Returns:
        Dotted module name -> file.
    """
    files: dict[str, Path] = {}
    for path in sorted((root / package).rglob("*.py")):
        parts = list(path.relative_to(root).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        files[".".join(parts)] = path
    return files


class _Reader(ast.NodeVisitor):
    """Collects the imports of one module."""

    def __init__(self, module: str, path: str, known: Mapping[str, Path]) -> None:
        self.module = module
        self.path = path
        self.known = known
        self.depth = 0
        self.typing = 0
        self.found: list[Import] = []

    def _add(self, target: str, node: ast.AST) -> None:
        self.found.append(
            Import(
                self.module,
                target,
                self.path,
                getattr(node, "lineno", 0),
                hidden=self.depth > 0,
                typing_only=self.typing > 0,
            )
        )

    def _function(self, node: ast.AST) -> None:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_FunctionDef = _function
    visit_AsyncFunctionDef = _function
    visit_Lambda = _function

    def visit_If(self, node: ast.If) -> None:
        """Imports under `if TYPE_CHECKING:` are for type checkers."""
        test = node.test
        name = test.id if isinstance(test, ast.Name) else getattr(test, "attr", "")
        if name == "TYPE_CHECKING":
            self.typing += 1
            for statement in node.body:
                self.visit(statement)
            self.typing -= 1
            for statement in node.orelse:
                self.visit(statement)
        else:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        """`import a.b as c`."""
        for alias in node.names:
            self._add(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """`from a.b import c`, where `c` may be a module."""
        base = node.module or ""
        if node.level:
            parts = self.module.split(".")
            if self.known.get(self.module, Path()).name != "__init__.py":
                parts = parts[:-1]
            parts = parts[: len(parts) - node.level + 1]
            base = ".".join([*parts, *([node.module] if node.module else [])])
        for alias in node.names:
            deeper = f"{base}.{alias.name}"
            self._add(deeper if deeper in self.known else base, node)

    def visit_Call(self, node: ast.Call) -> None:
        """`importlib.import_module("a.b")` and `__import__("a.b")` with a literal name."""
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in {"import_module", "__import__"} and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                self._add(first.value, node)
        self.generic_visit(node)


def read_imports(root: Path, package: str = PACKAGE) -> list[Import]:
    """Every import of every module of a package.

    Args:
        root: the folder that holds the package's folder.
        package: the package's name.

    Returns:
        The imports, by module and line.
    """
    known = module_files(root, package)
    found: list[Import] = []
    for module, path in known.items():
        reader = _Reader(module, str(path.relative_to(root)), known)
        reader.visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
        found += reader.found
    return found


def _subpackage(module: str, package: str) -> str:
    """The subpackage of a module; "" is the facade, the package's own `__init__`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == package else ""


def _layer(subpackage: str) -> int | None:
    return next((n for n, subpackages in enumerate(LAYERS) if subpackage in subpackages), None)


def _matches(pattern: str, module: str) -> bool:
    if pattern.endswith(".*"):
        return module == pattern[:-2] or module.startswith(pattern[:-1])
    return module == pattern


def _first_party(
    found: Import, package: str, lazy: Mapping[tuple[str, str], str], used: set[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    entry = next(
        (e for e in lazy if _matches(e[0], found.module) and _matches(e[1], found.target)), None
    )
    mine, theirs = _subpackage(found.module, package), _subpackage(found.target, package)
    if mine == "":
        # The facade: may name everything, lazily (PEP 562) or for type checkers.
        if not found.typing_only and not found.hidden and theirs not in _WITH_FACADE:
            yield "upward", f"the facade is lazy: it may not import {found.target} when imported"
        return
    if theirs == "":
        yield "upward", f"imports the facade `{package}`; import the package that has the name"
        return
    mine_layer, their_layer = _layer(mine), _layer(theirs)
    for subpackage, layer in ((mine, mine_layer), (theirs, their_layer)):
        if layer is None:
            yield "upward", f"`{subpackage}` is in no layer; give it one in tools/architecture.py"
            return
    assert mine_layer is not None
    assert their_layer is not None
    upward = mine != theirs and their_layer >= mine_layer
    if upward or found.hidden:
        if entry is not None:
            used.add(entry)
            return
    if upward:
        where = "beside" if their_layer == mine_layer else "above"
        yield "upward", f"`{mine}` imports {found.target}, which stands {where} it"
    if found.hidden and not found.typing_only:
        yield "hidden", f"imports {found.target} inside a function"


def _between_rooms(
    found: Import, known: Mapping[str, Path], rooms: Mapping[str, tuple[tuple[str, ...], ...]]
) -> Iterator[tuple[str, str]]:
    for package, layers in rooms.items():
        names = [_room(module, package, known) for module in (found.module, found.target)]
        if None in names or names[0] == names[1] or found.module == package:
            continue
        mine, theirs = (
            next((n for n, layer in enumerate(layers) if name in layer), None) for name in names
        )
        if mine is None or theirs is None:
            yield "upward", f"a folder of {names} is in no layer of `ROOMS`; give it one"
        elif theirs >= mine:
            where = "beside" if theirs == mine else "above"
            yield "upward", f"`{names[0]}` imports {found.target}, which stands {where} it"


def _room(module: str, package: str, known: Mapping[str, Path]) -> str | None:
    """The folder of a package in which a module stands; None for modules of other packages."""
    if not module.startswith(f"{package}."):
        return None
    name = module[len(package) + 1 :].split(".", maxsplit=1)[0]
    path = known.get(f"{package}.{name}")
    return name if path is not None and path.name == "__init__.py" else ""


def _third_party(found: Import, package: str) -> Iterator[tuple[str, str]]:
    top = found.target.split(".")[0]
    subpackage = _subpackage(found.module, package)
    if top in sys.stdlib_module_names:
        if found.hidden and top not in RARE:
            yield "hidden", f"imports {found.target} inside a function"
        return
    if top in OPTIONAL:
        if not found.hidden and subpackage != top:  # `mypy.py` is imported by mypy only
            yield "pin", f"{top} is optional: import it inside a function"
        elif subpackage != OPTIONAL[top]:
            yield "pin", f"`{subpackage}` imports {top}; it is imported in {OPTIONAL[top]}"
        return
    if top not in DECLARED:
        yield "undeclared", f"imports {found.target}, which pyproject.toml does not name"
        return
    home = HOMES.get(top)
    if home is not None and subpackage not in home:
        homes = ", ".join(sorted(filter(None, home)))
        yield "pin", f"`{subpackage}` imports {found.target}; it is imported in {homes}"
    if found.hidden and top not in HEAVY:
        yield "hidden", f"imports {found.target} inside a function"


def _cycles(imports: list[Import], known: Mapping[str, Path], package: str) -> Iterator[list[str]]:
    """Circles of top-level imports, by Tarjan's algorithm.

    Imports for type checkers count within a package: there, a protocol or a move undoes them.
    """
    edges: dict[str, list[str]] = {module: [] for module in known}
    for found in imports:
        if found.hidden or found.target not in known:
            continue
        subpackage = _subpackage(found.module, package)
        if found.typing_only and (
            not subpackage or subpackage != _subpackage(found.target, package)
        ):
            continue
        if found.target not in edges[found.module]:
            edges[found.module].append(found.target)
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    rings: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for target in edges[module]:
            if target not in order:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], order[target])
        if low[module] == order[module]:
            ring = []
            while True:
                last = stack.pop()
                ring.append(last)
                if last == module:
                    break
            if len(ring) > 1 or module in edges[module]:
                rings.append(sorted(ring))

    for module in edges:
        if module not in order:
            visit(module)
    yield from sorted(rings)


def check(
    root: Path,
    package: str = PACKAGE,
    lazy: Mapping[tuple[str, str], str] | None = None,
    circles: Mapping[tuple[str, ...], str] | None = None,
    rooms: Mapping[str, tuple[tuple[str, ...], ...]] = ROOMS,
) -> list[Problem]:
    """Everything in a package's imports that breaks a rule of the architecture.

    Args:
        root: the folder that holds the package's folder.
        package: the package's name.
        lazy: the allowed lazy imports; `LAZY` if not given.
        circles: the circles that are known; `KNOWN_CIRCLES` if not given.
        rooms: packages whose folders stand in layers.

    Returns:
        The problems, in order of place; empty for a sound tree.
    """
    allowed = LAZY if lazy is None else lazy
    known = module_files(root, package)
    imports = read_imports(root, package)
    used: set[tuple[str, str]] = set()
    problems: list[Problem] = []
    for found in imports:
        own = found.target.split(".")[0] == package
        broken = (
            _first_party(found, package, allowed, used) if own else _third_party(found, package)
        )
        broken = itertools.chain(broken, _between_rooms(found, known, rooms))
        problems += [Problem(found.path, found.line, kind, text) for kind, text in broken]
    accepted = KNOWN_CIRCLES if circles is None else circles
    rings = list(_cycles(imports, known, package))
    for circle in accepted:
        if list(circle) not in rings:
            text = f"the circle {' -> '.join(circle)} is gone"
            problems.append(Problem("tools/architecture.py", 1, "stale", text))
    for ring in rings:
        if tuple(ring) in accepted:
            continue
        path = str(known[ring[0]].relative_to(root))
        problems.append(Problem(path, 1, "cycle", " -> ".join([*ring, ring[0]])))
    for entry, reason in allowed.items():
        wild = entry[0].endswith(".*")
        if not reason:
            problems.append(Problem("tools/architecture.py", 1, "stale", f"{entry} has no reason"))
        if entry not in used and not wild:
            problems.append(Problem("tools/architecture.py", 1, "stale", f"{entry} is not needed"))
    return sorted(set(problems))


def main() -> int:
    """Check the package of this repository.

    Returns:
        The exit code: 1 if a rule is broken.
    """
    problems = check(Path(__file__).resolve().parent.parent)
    for problem in problems:
        print(problem)
    print(f"architecture: {len(problems)} problem(s)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
