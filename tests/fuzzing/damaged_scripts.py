# ruff: noqa: S311 - nothing is secret here
"""Damaged scripts that are run: names, constants and shapes changed in random programs.

A case ends well when compiling or running it is refused with a place, or when the model, eager mode
and plain numpy give the same; where a warning said that ONNX differs, the values are not compared.
"""

from __future__ import annotations

import ast
import random
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from onnxwright.eager import CompiledModel
from onnxwright.errors import InternalError, OnnxwrightError, OnnxwrightWarning
from tests.harness.mutations import HOME, time_limit
from tests.harness.programs import (
    Inputs,
    Program,
    arrays_of,
    load_program,
    make_program,
    run_numpy,
    same_values,
)

_NUMBERS = (0, 1, -1, 2, 3, 5, 7, 100, 0.5, -1.5, 1e30, 2**31, 2**40, 2**63, True, False)
_RUN_SECONDS = 2
"""Processor time for one run; random programs take milliseconds, damaged ones may not end."""

_SIZES = (0, 1, 2, 3, 4, 7, -1, "A", "B", "C", "2*A", "A + 1", None, 2.5, "")


class _WrongError(Exception):
    """A case that ended as it may not end."""


def damaged(seed: int) -> Program:
    """A random program with one to three changes.

    Args:
        seed: any integer.

    Returns:
        The program; it may not be one that Python runs.
    """
    rng = random.Random(seed)
    program = make_program(seed % 100_000)
    tree = ast.parse(program.source)
    for _ in range(rng.choice((1, 1, 2, 3))):
        rng.choice((_name, _name, _constant, _shape))(rng, tree)
    return replace(program, source=ast.unparse(ast.fix_missing_locations(tree)) + "\n")


def _functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]


def _name(rng: random.Random, tree: ast.AST) -> None:
    """One name that is read, or one operator, becomes another of the same function."""
    nodes = [n for f in _functions(tree) for s in f.body for n in ast.walk(s)]
    names = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    attributes = [n for n in nodes if isinstance(n, ast.Attribute)]
    if attributes and rng.random() < 0.3:
        one, other = rng.choice(attributes), rng.choice(attributes)
        one.attr = other.attr
    elif names:
        rng.choice(names).id = rng.choice(names).id


def _constant(rng: random.Random, tree: ast.AST) -> None:
    """One number in a body becomes another one."""
    nodes = [n for f in _functions(tree) for s in f.body for n in ast.walk(s)]
    numbers = [
        n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, (int, float))
    ]
    if numbers:
        rng.choice(numbers).value = rng.choice(_NUMBERS)


def _shape(rng: random.Random, tree: ast.AST) -> None:
    """One dimension of an annotation becomes another one, or one annotation another's."""
    args = [a for f in _functions(tree) for a in f.args.args if a.annotation is not None]
    if not args:
        return
    one = rng.choice(args)
    assert one.annotation is not None
    dims = [n for n in ast.walk(one.annotation) if isinstance(n, ast.Constant)]
    if dims and rng.random() < 0.7:
        rng.choice(dims).value = rng.choice(_SIZES)
    else:
        one.annotation = rng.choice(args).annotation


def run_damaged(seed: int) -> tuple[str, str]:
    """Compile and run a damaged program.

    Args:
        seed: its number.

    Returns:
        How it ended (`done`, `refused` or `WRONG`), and why.
    """
    program = damaged(seed)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            return _ended(program, told)
    except _WrongError as error:
        return "WRONG", f"script: {error}\n{program.source}\n{program.inputs}"


def _ended(program: Program, told: list[warnings.WarningMessage]) -> tuple[str, str]:
    try:
        with time_limit():
            main = load_program(program)
            model = main.to_model_proto()
    except Exception as error:  # noqa: BLE001 - sorted out here
        return _refused(error, "compiling")
    done = False
    for inputs in program.inputs:
        expected = _tried(partial(run_numpy, program, inputs), "numpy")
        eager = _tried(partial(_eager, main, inputs), "eager")
        if expected is None:
            continue  # a loop of the model might not end
        compiled = _tried(partial(_compiled, model, inputs), "compiled")
        if any(map(_says_that_values_differ, told)):
            continue
        for name, found in (("eager", eager), ("the model", compiled)):
            if found is None:
                continue
            done = True
            if not same_values(expected, found):
                raise _WrongError(f"numpy gives {expected}, {name} gives {found}")
    return "done" if done else "refused", ""


def _eager(main: Any, inputs: Inputs) -> Any:
    return arrays_of(main(*inputs))


def _compiled(model: Any, inputs: Inputs) -> Any:
    return arrays_of(CompiledModel(model)(*inputs))


def _says_that_values_differ(told: warnings.WarningMessage) -> bool:
    """Whether a warning is about values: OW710 is about the ranks that a model declares."""
    message = told.message
    return isinstance(message, OnnxwrightWarning) and message.diagnostic.code != "OW710"


def _tried(run: Callable[[], Any], how: str) -> Any:
    """What one way gives; None where it refuses, or where numpy has no value to compare with."""
    try:
        with time_limit(_RUN_SECONDS):
            return run()
    except Exception as error:  # noqa: BLE001 - sorted out here
        if how != "numpy":
            _refused(error, how)
        return None


def _refused(error: Exception, how: str) -> tuple[str, str]:
    """Check that an error is one of ours with a place, or one of the program itself."""
    text = "".join(traceback.format_exception(error)[-6:])
    if isinstance(error, TimeoutError):
        if how == "eager":
            return "refused", ""  # the program itself does not end
        raise _WrongError(f"{how} does not end: {text}") from None
    if not isinstance(error, OnnxwrightError):
        last = traceback.extract_tb(error.__traceback__)[-1]
        if last.filename.startswith(HOME):
            raise _WrongError(f"{how}: {text}") from None
        return "refused", ""
    if isinstance(error, InternalError) or any(d.span is None for d in error.diagnostics):
        raise _WrongError(f"{how}: {text}") from None
    str(error)
    return "refused", ""
