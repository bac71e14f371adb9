# ruff: noqa: S311, T201 - nothing is secret here, and a command prints
"""Random script programs run four ways: plain numpy, eager, ONNX Runtime and onnx.reference.

A program is Python source text made from a seed.  `run_program` runs it and complains where two
ways differ; `shrink` (see `shrink.py`) makes a failing one small.  The command

    python -m tests.harness.programs --count 20000 --seed 0 -n 2

prints a table of what was run, and the smallest form of each failure.
"""

from __future__ import annotations

import argparse
import ast
import functools
import itertools
import linecache
import random
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxwright.eager.ort.compiled_models import CompiledModel
from onnxwright.sweep.cluster import Cluster, Lost, run_tasks
from tests.harness.numpy_ops import NumpyOps
from tests.harness.program_expressions import Scope, Slot
from tests.harness.program_statements import Statements
from tests.harness.shrink import shrink_source

HEADER = "from onnxwright import BOOL, DOUBLE, FLOAT, INT64, opset{opset} as op, script\n\n\n"
_DTYPES = {"FLOAT": np.float32, "DOUBLE": np.float64, "INT64": np.int64, "BOOL": np.bool_}
_LIMIT = 1e5
_names = itertools.count()

Inputs = tuple[np.ndarray[Any, Any], ...]
Outputs = tuple[np.ndarray[Any, Any], ...]


@dataclass(frozen=True)
class Program:
    """Source text of a module with one script function `main`, and what to call it with.

    Fields:
        seed: what it was made from.
        source: the whole module, its imports included.
        inputs: argument lists for `main`.
        outputs: the names of the result types, such as `FLOAT`.
    """

    seed: int
    source: str
    inputs: tuple[Inputs, ...]
    outputs: tuple[str, ...]


class UnfitError(Exception):
    """A program whose meaning is not the same everywhere, and why."""


def make_program(seed: int) -> Program:
    """The random program of a seed: the first of a row of tries whose values stay small.

    Args:
        seed: any integer; the same seed gives the same program everywhere.

    Returns:
        A program that plain numpy runs without overflow.

    Raises:
        RuntimeError: no try was any good, which does not happen.

    Example:
        >>> make_program(3).source == make_program(3).source
        True
    """
    for attempt in range(200):
        program = _draw(seed, random.Random(f"{seed}/{attempt}"))
        try:
            for inputs in program.inputs:
                run_numpy(program, inputs)
        except (ArithmeticError, RecursionError, UnfitError):
            continue
        return program
    raise RuntimeError(f"seed {seed} gives no program whose values stay small")


def _draw(seed: int, rng: random.Random) -> Program:
    real = rng.choice(("FLOAT", "FLOAT", "DOUBLE"))
    sizes = {"A": rng.choice((1, 2, 2, 3)), "B": rng.choice((1, 2, 3, 4))}
    params: dict[str, Slot] = {"x": ("f", "AB"), "m": ("i", "B")}
    more = (("s", ("f", "")), ("n", ("i", "")), ("p", ("b", "")), ("v", ("f", "B")))
    params |= {name: slot for name, slot in more if rng.random() < 0.4}
    parts, nested = [], []
    scope = Scope(dict(params), sizes)
    for k in range(rng.choice((0, 0, 1, 2))):
        inside = rng.random() < 0.3
        name, text, takes, gives = _helper(rng, k, sizes, params if inside else {})
        if inside:
            nested += text.splitlines()
        else:
            parts.append(text)
        scope.helpers[name] = (takes, gives)
    typed = {name: _annotation(rng, slot, real, sizes) for name, slot in params.items()}
    attributes = []
    if rng.random() < 0.25:
        scope.names["alpha"] = ("w", "")
        attributes.append(f"alpha: float = {rng.choice(('0.5', '2.0'))}")
    if rng.random() < 0.25:
        scope.names["times"] = ("n", "")
        attributes.append(f"times: int = {rng.choice(('0', '2', '3'))}")
    gives = tuple(rng.choice(list(_RESULTS)) for _ in range(rng.choice((1, 1, 2, 3))))
    fixed = frozenset(("alpha", "times")) if rng.random() < 0.7 else frozenset()
    body = [*nested, *Statements(rng, gives, fixed).body(scope)]
    results = [_RESULTS[slot].format(real=real) for slot in gives]
    arrow = ""
    if rng.random() < 0.6:
        arrow = f" -> {results[0]}" if len(gives) == 1 else f" -> tuple[{', '.join(results)}]"
    head = ", ".join([f"{name}: {text}" for name, text in typed.items()] + attributes)
    parts.append(_function("main", head, arrow, body, script=True))
    header = HEADER.format(opset=rng.choice((18, 18, 21, 23)))
    source = header + "\n\n".join(parts)
    inputs = tuple(
        tuple(_value(rng, slot, real, sizes) for slot in params.values()) for _ in range(2)
    )
    return Program(seed, source, inputs, tuple(results))


_RESULTS: dict[Slot, str] = {
    ("f", "AB"): "{real}",
    ("f", "B"): "{real}",
    ("f", ""): "{real}",
    ("i", "B"): "INT64",
    ("b", "B"): "BOOL",
}


def _helper(
    rng: random.Random, k: int, sizes: dict[str, int], outer: dict[str, Slot]
) -> tuple[str, str, tuple[Slot, ...], tuple[Slot, ...]]:
    """A helper: plain Python, a script, or a function inside `main` that sees its parameters."""
    slots: dict[str, Slot] = {"q": ("f", "AB"), "r": ("i", "B")}
    if rng.random() < 0.5:
        slots["t"] = ("f", "")
    gives = tuple(rng.choice(list(_RESULTS)) for _ in range(rng.choice((1, 1, 2))))
    writer = Statements(rng, gives, frozenset(outer))
    writer.budget = min(writer.budget, 5)
    body = writer.body(Scope({**slots, **outer}, sizes))
    name = f"helper{k}"
    text = _function(name, ", ".join(slots), "", body, script=not outer and rng.random() < 0.4)
    return name, text, tuple(slots.values()), gives


def _function(name: str, head: str, arrow: str, body: Sequence[str], *, script: bool) -> str:
    mark = "@script\n" if script else ""
    return f"{mark}def {name}({head}){arrow}:\n" + "".join(f"    {line}\n" for line in body)


def _annotation(rng: random.Random, slot: Slot, real: str, sizes: Mapping[str, int]) -> str:
    """One of the ways to say it: exact, symbolic, any shape, or the dtype alone."""
    kind, shape = slot
    dtype = {"f": real, "i": "INT64", "b": "BOOL"}[kind]
    exact = ", ".join(str(sizes[c]) for c in shape) or "()"
    symbolic = ", ".join(f'"{c}"' for c in shape) or "()"
    unknown = ", ".join("None" for _ in shape) or "..."
    return dtype + rng.choice((f"[{exact}]", f"[{symbolic}]", f"[{unknown}]", "[...]", ""))


def _value(
    rng: random.Random, slot: Slot, real: str, sizes: Mapping[str, int]
) -> np.ndarray[Any, Any]:
    """Small values that float32 holds exactly, so that equal means equal."""
    kind, shape = slot
    dims = tuple(sizes[c] for c in shape)
    count = int(np.prod(dims, dtype=int))
    if kind == "b":
        return np.array([rng.random() < 0.5 for _ in range(count)]).reshape(dims)
    if kind == "i":
        return np.array([rng.randrange(-3, 6) for _ in range(count)], np.int64).reshape(dims)
    numbers = [rng.randrange(-12, 13) / 4 for _ in range(count)]
    return np.array(numbers, _DTYPES[real]).reshape(dims)


# -- the four ways -----------------------------------------------------------------------------


def run_numpy(program: Program, inputs: Inputs) -> Outputs:
    """What plain numpy makes of it; raises where a value overflows or grows large."""
    space: dict[str, Any] = {"op": NumpyOps(), "script": lambda function: function}
    space |= {name: _Annotation() for name in _DTYPES}
    tree = _Rebinding().visit(ast.parse(program.source))
    code = compile(ast.fix_missing_locations(tree), "<plain>", "exec")
    exec(code, space)  # noqa: S102 - running it is the point
    with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = space["main"](*(a.copy() for a in inputs))
        except RuntimeWarning as error:
            raise UnfitError(str(error)) from None
    values: list[np.ndarray[Any, Any]] = []
    for value, name in zip(_tuple(found), program.outputs):
        array: np.ndarray[Any, Any] = np.asarray(value)
        if array.dtype.kind in "fi" and array.size and np.abs(array).max() > _LIMIT:
            raise UnfitError("values grow large")
        values.append(array.astype(_DTYPES[name]))
    return tuple(values)


class _Rebinding(ast.NodeTransformer):
    """Leaves out the imports, and makes `x += y` bind a new array.

    In numpy it changes the array that other names hold too; a tensor of a model never changes.
    """

    def visit_ImportFrom(self, _: ast.ImportFrom) -> None:
        return None

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        assert isinstance(node.target, ast.Name)
        old = ast.Name(node.target.id, ast.Load())
        return ast.Assign([node.target], ast.BinOp(old, node.op, node.value))


class _Annotation:
    """Stands for FLOAT and the like where only numpy runs."""

    def __getitem__(self, _: object) -> _Annotation:
        return self


def load_program(program: Program, name: str = "") -> Any:
    """The script function `main` of a program, executed as a module of its own.

    Args:
        program: what `make_program` gave.
        name: that of its file; another one for each call if not given.
    """
    name = name or f"<program {program.seed}.{next(_names)}>"
    lines = program.source.splitlines(keepends=True)
    linecache.cache[name] = (len(program.source), None, lines, name)
    space: dict[str, Any] = {"__name__": "program"}
    exec(compile(program.source, name, "exec"), space)  # noqa: S102 - running it is the point
    return space["main"]


def run_program(program: Program) -> None:
    """Run a program four ways and compare.

    Args:
        program: what `make_program` gave.

    Raises:
        AssertionError: two ways differ, or one of them fails; the text has the source, the inputs
            and every value.

    Example:
        >>> run_program(make_program(1))
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main = load_program(program)
        ways = _ways(main)
    for inputs in program.inputs:
        expected = run_numpy(program, inputs)
        found: dict[str, object] = {"numpy": expected}
        for name, way in ways.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[name] = _caught(functools.partial(way, inputs))
        bad = [name for name, got in found.items() if not same_values(expected, got)]
        if bad:
            raise AssertionError(_report(program, inputs, found, bad))


def _ways(main: Any) -> dict[str, Callable[[Inputs], Outputs]]:
    """How to run `main`, by name; compiling may fail, which is then what each way says."""

    def eager(inputs: Inputs) -> Outputs:
        return arrays_of(main(*inputs))

    model = _caught(main.to_model_proto)
    if not isinstance(model, Exception):
        # As a function its attributes stay references, which is lowered in ways of its own.
        function = _caught(main.to_function_proto)
        model = function if isinstance(function, Exception) else model
    if isinstance(model, Exception):

        def broken(_: Inputs) -> Outputs:
            raise model

        return {"eager": eager, "compiled": broken}
    return {
        "eager": eager,
        "onnxruntime": _compiled(model),
        "reference": _reference(model),
    }


def _compiled(model: Any) -> Callable[[Inputs], Outputs]:
    session = _caught(lambda: CompiledModel(model))

    def run(inputs: Inputs) -> Outputs:
        if isinstance(session, Exception):
            raise session
        return arrays_of(session(*inputs))

    return run


def _reference(model: Any) -> Callable[[Inputs], Outputs]:
    from onnx.reference import ReferenceEvaluator

    evaluator = _caught(lambda: ReferenceEvaluator(model))

    def run(inputs: Inputs) -> Outputs:
        if isinstance(evaluator, Exception):
            raise evaluator
        feeds = {i.name: value for i, value in zip(model.graph.input, inputs, strict=True)}
        return arrays_of(evaluator.run(None, feeds))

    return run


def arrays_of(values: object) -> Outputs:
    return tuple(np.asarray(value) for value in _tuple(values))


def _caught(action: Callable[[], Any]) -> Any:
    """The result, or the exception; a failure of any kind is a finding here."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - reported with the program
        return error


def same_values(expected: Outputs, got: object) -> bool:
    if not isinstance(got, tuple) or len(got) != len(expected):
        return False
    return all(
        one.dtype == other.dtype
        and one.shape == other.shape
        and np.allclose(one, other, rtol=1e-3, atol=1e-3)
        for one, other in zip(expected, got)
    )


def _report(program: Program, inputs: Inputs, found: dict[str, object], bad: list[str]) -> str:
    lines = [f"program {program.seed}: {', '.join(bad)} differ from numpy", "", program.source]
    lines += [f"input {k}: {value!r}" for k, value in enumerate(inputs)]
    for name, value in found.items():
        shown = f"{type(value).__name__}: {value}" if isinstance(value, Exception) else repr(value)
        lines.append(f"{name}: {shown}")
    return "\n".join(lines)


def _tuple(value: object) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


# -- many of them ------------------------------------------------------------------------------


def check_seed(seed: int) -> str | None:
    """None where the program of a seed agrees, else the report."""
    try:
        run_program(make_program(seed))
    except AssertionError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a finding as well
        return f"program {seed}: {type(error).__name__}: {error}\n\n{make_program(seed).source}"
    return None


def shrink(program: Program) -> Program:
    """The smallest program found that still fails in the same way; at most a minute of work."""

    def failure(source: str) -> str | None:
        candidate = Program(program.seed, source, program.inputs, program.outputs)
        try:
            for inputs in program.inputs:
                run_numpy(candidate, inputs)
        except Exception:  # noqa: BLE001 - not a program any more
            return None
        try:
            run_program(candidate)
        except AssertionError as error:
            return _kind(str(error))
        except Exception as error:  # noqa: BLE001 - a finding as well
            return type(error).__name__
        return None

    source = shrink_source(program.source, failure)
    return Program(program.seed, source, program.inputs, program.outputs)


def _kind(report: str) -> str:
    """What makes two failures the same: which ways differ and by which exception."""
    first = report.split("\n", 1)[0].split(":", 1)[-1]
    shown = ("eager: ", "compiled: ", "onnxruntime: ", "reference: ")
    ways = [line for line in report.split("\n") if line.startswith(shown)]
    return first + "".join("|" + x[:60] if "array" not in x and "Error" in x else "" for x in ways)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run many programs and print a table; returns the exit status.

    Args:
        arguments: the command line, `sys.argv` where None.

    Returns:
        0 where all programs agree, else 1.

    Example:
        >>> main(["--count", "1", "--seed", "1"])
        programs  agree  differ
               1      1       0
        0
    """
    parser = argparse.ArgumentParser(prog="python -m tests.harness.programs")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("-n", type=int, default=0, help="processes; 0 for this one")
    parser.add_argument("--scheduler", help="run on this dask scheduler")
    parser.add_argument("--show", type=int, default=3, help="failures to shrink and print")
    parser.add_argument("--print", action="store_true", help="print the programs, run nothing")
    given = parser.parse_args(arguments)
    seeds = range(given.seed, given.seed + given.count)
    if given.print:
        print("\n\n".join(f"# seed {seed}\n{make_program(seed).source}" for seed in seeds))
        return 0
    found = run_tasks(
        check_seed, {str(seed): seed for seed in seeds}, Cluster(given.n, given.scheduler)
    )
    reports = {int(name): report for name, report in found if report is not None}
    bad = sorted(reports)
    for seed in bad[: given.show]:
        if isinstance(reports[seed], Lost):
            print(f"program {seed}: {reports[seed].why}\n\n{make_program(seed).source}\n{'-' * 80}")
            continue
        small = shrink(make_program(seed))
        try:
            run_program(small)
        except Exception as error:  # noqa: BLE001 - printed
            print(f"{error}\n{'-' * 80}")
    if bad:
        print("seeds that differ:", *bad[:50])
    print("programs  agree  differ")
    print(f"{len(seeds):8}  {len(seeds) - len(bad):5}  {len(bad):6}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
