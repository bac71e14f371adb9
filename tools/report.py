"""Figures of the source: sizes of files and functions, shares of `Any`, tables of operators.

python -m tools.report               # everything
python -m tools.report --tables      # only tables of operator names outside `operators/`
python -m tools.report --junit FILE  # the longest and the skipped tests of a run of pytest
"""

from __future__ import annotations

import argparse
import ast
import functools
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from onnxwright.operators import all_facts
from tools.junit import read_cases, summary_lines

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "onnxwright"
# A collection of this many operator names is a table.
FEWEST_NAMES = 4
# What may be the name of an operator in a string: no attribute, as of `op.Add`.
_WORD = re.compile(r"(?<![\w.])[A-Z]\w*")

# Tables that are not facts of operators: file and name of what holds them -> the reason.
ALLOWED_TABLES: dict[tuple[str, str], str] = {
    ("atenlib/helpers/sizes.py", "_ON_INTS"): "Python's arithmetic on sizes that are numbers",
    ("atenlib/ops/diff_gradient.py", "_COMPLEX"): "what complex numbers are computed by",
    ("eager/contrib.py", "KERNELS"): "functions of com.microsoft, whose names are also standard",
    (
        "versions/rules/families.py",
        "_DROPPED",
    ): "operators whose attribute said nothing, by version",
    ("quantize/half_masks.py", "_PASSED"): "what a mask passes on its way to scores",
    ("verification/input_uses.py", "_MOVES"): "inputs whose limits are those of the result",
    ("verification/input_uses.py", "_indexed"): "how many elements an index chooses from",
    ("tracing/simplify.py", "_RULES"): "rewrites by the operator at their root",
    ("tracing/simplify.py", "_reshape"): "the pattern of a rewrite",
    ("ir/validation/model.py", "_BODIES"): "attributes that have to hold a graph",
    (
        "ir/validation/nodes.py",
        "_EXTRA",
    ): "inputs and outputs that a body has beside those of its node",
    ("optimizer/transpose_moves.py", "_PLANNERS"): "how the pass moves each operator",
    ("optimizer/library/transposing.py", "BETWEEN_BOTH"): "operators that rules are made for",
    ("optimizer/library/transposing.py", "WITH_CONSTANT"): "operators that rules are made for",
    ("optimizer/library/transposing.py", "REDUCTIONS"): "operators that rules are made for",
    ("eager/contrib.py", "_ACTIVATIONS"): "what the attribute `activation` may name",
    ("testing/rule_inputs.py", "PRODUCERS"): "what a proof computes the inputs of a rule by",
    ("exporter/dimensions.py", "_FUNCTIONS"): "functions of sympy, not operators",
    ("optimizer/library/parts.py", "AS_VECTORS"): "operators that rules are made for",
    ("optimizer/library/reductions.py", "_OF_ONE"): "operators that rules are made for",
    ("optimizer/library/transposing.py", "_UNARY"): "the operators that rules are made for",
    ("optimizer/library/transposing.py", "_ROUNDED"): "the operators that rules are made for",
    ("optimizer/library/transposing.py", "BEFORE"): "the operators that rules are made for",
    ("optimizer/norm_folding.py", "_BEFORE"): "the pattern of a rewrite",
    ("versions/fits.py", "_OF_NEW_TYPES"): "whose attributes are for new types only",
    ("versions/fits.py", "_wider"): "whose type is an attribute or has no variable",
    ("versions/rules/down_axes.py", "_WITHOUT_REDUCTION"): "what an adapter emits",
}


# -- files and functions -------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """A file.

    Fields:
        path: its path inside the package.
        text: what it holds.
    """

    path: str
    text: str

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return len(self.text.splitlines())

    @functools.cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)


@dataclass(frozen=True)
class Function:
    """A function and its length in lines, its docstring not counted."""

    path: str
    name: str
    line: int
    lines: int


@functools.cache
def read_sources(folder: Path) -> tuple[Source, ...]:
    """The Python files below a folder, in order of path; a folder is read once.

    Args:
        folder: the folder of the package.
    """
    found = []
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        found.append(Source(name, path.read_text(encoding="utf-8")))
    return tuple(found)


def functions_of(source: Source) -> Iterator[Function]:
    """The functions and methods of a file, nested ones too."""
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            yield Function(source.path, node.name, node.lineno, length - _doc_lines(node))


def _doc_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many lines the docstring of a function has."""
    if ast.get_docstring(node) is None:
        return 0
    first = node.body[0]
    return (first.end_lineno or first.lineno) - first.lineno + 1


# -- Any -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnyShare:
    """How many of the annotated parameters of a group are `Any`."""

    group: str
    parameters: int
    any: int

    @property
    def percent(self) -> float:
        """The share in percent."""
        return 100 * self.any / self.parameters if self.parameters else 0.0


def any_shares(sources: Sequence[Source]) -> list[AnyShare]:
    """The share of `Any` among annotations of parameters, by package.

    A parameter counts as `Any` if its annotation is `Any` or an optional or union with it
    (`Any | None`).  Bodies of ATen functions (`@aten`) are a group of their own.

    Args:
        sources: the files of the package.
    """
    counts: dict[str, list[int]] = {}
    for source in sources:
        package = source.path.partition("/")[0] if "/" in source.path else "(top)"
        for node in ast.walk(source.tree):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            group = "atenlib (bodies)" if _is_aten_body(node) else package
            count = counts.setdefault(group, [0, 0])
            for annotation in _annotations(node):
                count[0] += 1
                count[1] += _is_any(annotation)
    return [AnyShare(group, total, loose) for group, (total, loose) in sorted(counts.items())]


def _is_aten_body(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    called = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
    return any(isinstance(f, ast.Name) and f.id == "aten" for f in called)


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    given = node.args
    for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if arg is not None and arg.annotation is not None:
            yield arg.annotation


def _is_any(annotation: ast.expr) -> bool:
    if isinstance(annotation, ast.Name):
        return annotation.id == "Any"
    if isinstance(annotation, ast.Attribute):
        return annotation.attr == "Any"
    if isinstance(annotation, ast.BinOp):
        return _is_any(annotation.left) or _is_any(annotation.right)
    if isinstance(annotation, ast.Subscript):
        name = annotation.value
        return isinstance(name, ast.Name) and name.id == "Optional" and _is_any(annotation.slice)
    return False


# -- tables of operators ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """A collection of operator names in the source.

    Fields:
        path: the file, inside the package.
        line: where it starts.
        holder: the name it is assigned to at the top of the file, or the function it stands in.
        names: the operators.
    """

    path: str
    line: int
    holder: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        shown = " ".join(self.names[:6]) + (" ..." if len(self.names) > 6 else "")
        return f"{self.path}:{self.line}: {self.holder}: {len(self.names)} operators: {shown}"


def tables_of(source: Source, is_operator: Callable[[str], bool]) -> Iterator[Table]:
    """The tables of operator names in a file: sets, tuples, lists, keys of dicts, split strings.

    Args:
        source: the file.
        is_operator: whether a string is the name of a standard operator.
    """
    # Most files have fewer such words: they need not be parsed.
    if sum(map(is_operator, _WORD.findall(source.text))) < FEWEST_NAMES:
        return
    for statement in source.tree.body:
        yield from _tables_in(statement, _holder(statement), source.path, is_operator)


def _holder(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return statement.name
    return ""


def _tables_in(
    node: ast.AST, holder: str, path: str, is_operator: Callable[[str], bool]
) -> Iterator[Table]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _HOLDS_STRINGS):
            found = tuple(text for text in _strings(node) if is_operator(text))
            if len(found) >= FEWEST_NAMES:
                yield Table(path, node.lineno, holder, found)
                continue
        waiting.extend(reversed([*ast.iter_child_nodes(node)]))


_HOLDS_STRINGS = (ast.Set, ast.List, ast.Tuple, ast.Dict, ast.Constant)


def _strings(node: ast.AST) -> list[str]:
    """The strings a collection holds; those of a string that is split into words."""
    parts: Sequence[ast.expr | None] = ()
    if isinstance(node, (ast.Set, ast.List, ast.Tuple)):
        parts = node.elts
    elif isinstance(node, ast.Dict):
        parts = node.keys
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        words = node.value.split()
        # Words of prose are not a table: nearly all of them have to be names.
        return words if all(word.isidentifier() and word[0].isupper() for word in words) else []
    return [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]


def operator_tables(
    sources: Sequence[Source], allowed: Mapping[tuple[str, str], str] | None = None
) -> tuple[list[Table], list[str]]:
    """Tables of operator names outside `operators/`, and exceptions that are not needed.

    Args:
        sources: the files of the package.
        allowed: exceptions; `ALLOWED_TABLES` if not given.

    Returns:
        The tables that are not excepted, and a line for each exception that no table needs.
    """
    exceptions = ALLOWED_TABLES if allowed is None else allowed
    standard = {record.name for record in all_facts() if not record.domain}
    used: set[tuple[str, str]] = set()
    tables = []
    for source in sources:
        if source.path.startswith("operators/"):
            continue
        for table in tables_of(source, standard.__contains__):
            key = (table.path, table.holder)
            if key in exceptions:
                used.add(key)
            else:
                tables.append(table)
    stale = [
        f"{path}: {name}: is not there" for path, name in exceptions if (path, name) not in used
    ]
    return tables, stale


# -- the report ------------------------------------------------------------------------------------


def size_lines(sources: Sequence[Source]) -> list[str]:
    """Number of files, median, longest file and function, as lines of text."""
    filled = [s for s in sources if s.lines]
    longest = max(filled, key=lambda s: s.lines)
    function = max((f for s in sources for f in functions_of(s)), key=lambda f: f.lines)
    place = f"{function.path}:{function.line}"
    return [
        f"files             {len(sources)}",
        f"median lines      {statistics.median(s.lines for s in filled):.0f}",
        f"longest file      {longest.path}: {longest.lines} lines",
        f"longest function  {place}: {function.name}: {function.lines} lines",
    ]


def table_lines(tables: Sequence[Table], stale: Sequence[str]) -> list[str]:
    """The tables of operator names outside `operators/`, as lines of text."""
    others = f"and {len(ALLOWED_TABLES)} that are not facts of operators"
    return [
        f"tables of operator names outside operators/: {len(tables)} ({others})",
        *(f"  {table}" for table in tables),
        *(f"  {line}" for line in stale),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report.

    Args:
        arguments: those of the command line, without the program.

    Returns:
        The exit code: 1 if there is a table that is not excepted.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", action="store_true", help="only tables of operator names")
    parser.add_argument(
        "--junit", type=Path, help="report on the tests of this `pytest --junitxml` file"
    )
    given = parser.parse_args(arguments)
    if given.junit is not None:
        print("\n".join(summary_lines(read_cases(given.junit))))
        return 0
    sources = read_sources(ROOT / PACKAGE)
    if not given.tables:
        print("\n".join(size_lines(sources)))
        shares = any_shares(sources)
        shares.append(
            AnyShare("all", sum(s.parameters for s in shares), sum(s.any for s in shares))
        )
        print("\nparameters annotated with Any:")
        for share in shares:
            print(
                f"  {share.group:18} {share.any:5} of {share.parameters:5} {share.percent:5.1f} %"
            )
        print()
    tables, stale = operator_tables(sources)
    print("\n".join(table_lines(tables, stale)))
    return 1 if tables or stale else 0


if __name__ == "__main__":
    sys.exit(main())
