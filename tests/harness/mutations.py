# ruff: noqa: S311, T201 - nothing is secret here, and a command prints
"""Random damage to valid scripts: each ends in a model or in a `ScriptError` with a position.

A mutation deletes, doubles or swaps tokens or tree nodes, or changes a name, a number or an
operator.  What is not Python any more, and what Python itself refuses before a script is compiled,
does not count.  The command

    python -m tests.harness.mutations --count 5000 --seed 0

prints a table and every way a mutation ended that it may not end.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import itertools
import linecache
import random
import signal
import sys
import tokenize
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnxwright
from onnxwright.errors import EagerError, InternalError, OnnxwrightError, ScriptError
from onnxwright.sweep.cluster import Cluster, Lost, run_tasks
from tests.harness.programs import make_program

SECONDS = 20
"""A compilation that takes longer than this hangs."""
_SHARE = 100
"""Mutations of one seed that a process tries."""

_WORDS = ("nope", "op", "x", "None", "True", "script", "i", "y", "len", "range", "self", "abs")
_NUMBERS = ("0", "-1", "1", "7", "1.5", "2**63", "''", "None", "True", "1e400", "3j", "[]")
_files = itertools.count()
HOME = str(Path(onnxwright.__file__).resolve().parent)


@dataclass(frozen=True)
class Ending:
    """How one mutation ended.

    Fields:
        kind: `model`, `error`, `not counted`, or `WRONG` with the reason in `text`.
    """

    kind: str
    text: str = ""
    source: str = ""


def mutations(sources: Sequence[str], seed: int) -> Iterator[str]:
    """Damaged texts without end, the same for the same seed.

    Args:
        sources: valid module texts; random programs are mixed in.
        seed: any integer.

    Yields:
        Texts that Python can parse.

    Example:
        >>> next(mutations(["x = 1 + 2"], 0)) != "x = 1 + 2"
        True
    """
    rng = random.Random(seed)
    for number in itertools.count(seed * 1_000_000):
        drawn = not sources or rng.random() < 0.5
        source = make_program(number).source if drawn else rng.choice(sources)
        damaged = source
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            damage = rng.choice((_damage_tokens, _damage_tree, _damage_tree))
            damaged = damage(rng, damaged)
        if damaged != source and _parses(damaged):
            yield damaged


def _parses(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<mutation>", "exec")
    except (SyntaxError, ValueError, MemoryError, OverflowError, RecursionError):
        return False
    return True


# -- damage ------------------------------------------------------------------------------------


def _damage_tokens(rng: random.Random, source: str) -> str:
    """Delete, double, swap or replace one token."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return source
    places = [
        k
        for k, token in enumerate(tokens[:-1])
        if token.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
        and not token.line.startswith(("from ", "import "))
    ]
    if not places:
        return source
    k = rng.choice(places)
    one, other = tokens[k], tokens[rng.choice(places)]
    text = one.string
    new = rng.choice(
        (
            "",
            f"{text} {text}",
            other.string,
            rng.choice(_WORDS) if one.type == tokenize.NAME else rng.choice(_NUMBERS),
        )
    )
    lines = source.splitlines(keepends=True)
    row, (start, stop) = one.start[0] - 1, (one.start[1], one.end[1])
    if one.end[0] != one.start[0]:
        return source
    lines[row] = lines[row][:start] + new + lines[row][stop:]
    return "".join(lines)


def _damage_tree(rng: random.Random, source: str) -> str:
    """Change one node of the syntax tree."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return source
    change = rng.choice((_drop, _double, _swap, _replace, _replace, _rename, _constant, _operator))
    try:
        change(rng, tree)
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, AttributeError, TypeError, IndexError, RecursionError, KeyError):
        return source  # the damaged tree is not a tree any more


def _blocks(tree: ast.AST) -> list[list[ast.stmt]]:
    """Statement lists inside functions."""
    found = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                for name in ("body", "orelse"):
                    block = getattr(node, name, None)
                    if isinstance(block, list) and block:
                        found.append(block)
    return found


def _drop(rng: random.Random, tree: ast.AST) -> None:
    block = rng.choice(_blocks(tree))
    block.pop(rng.randrange(len(block)))
    if not block:
        block.append(ast.Pass())


def _double(rng: random.Random, tree: ast.AST) -> None:
    block = rng.choice(_blocks(tree))
    target = rng.choice(_blocks(tree))
    target.insert(rng.randrange(len(target) + 1), rng.choice(block))


def _swap(rng: random.Random, tree: ast.AST) -> None:
    one, other = rng.choice(_blocks(tree)), rng.choice(_blocks(tree))
    i, j = rng.randrange(len(one)), rng.randrange(len(other))
    one[i], other[j] = other[j], one[i]


def _expressions(tree: ast.AST) -> list[tuple[ast.AST, str, int | None]]:
    """Where expressions hang inside functions."""
    found: list[tuple[ast.AST, str, int | None]] = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in itertools.chain.from_iterable(ast.walk(s) for s in function.body):
            for name, value in ast.iter_fields(node):
                if isinstance(value, ast.expr):
                    found.append((node, name, None))
                elif isinstance(value, list):
                    places = [k for k, item in enumerate(value) if isinstance(item, ast.expr)]
                    found += [(node, name, k) for k in places]
    return found


def _replace(rng: random.Random, tree: ast.AST) -> None:
    places = _expressions(tree)
    holder, name, index = rng.choice(places)
    donor, donor_name, donor_index = rng.choice(places)
    given = getattr(donor, donor_name)
    given = given if donor_index is None else given[donor_index]
    if index is None:
        setattr(holder, name, given)
    else:
        getattr(holder, name)[index] = given


def _rename(rng: random.Random, tree: ast.AST) -> None:
    names = [n for n in ast.walk(tree) if isinstance(n, (ast.Name, ast.arg, ast.Attribute))]
    one, other = rng.choice(names), rng.choice(names)
    field = {ast.Name: "id", ast.arg: "arg", ast.Attribute: "attr"}
    word = getattr(other, field[type(other)])
    setattr(one, field[type(one)], rng.choice((word, word, rng.choice(_WORDS[:3]))))


def _constant(rng: random.Random, tree: ast.AST) -> None:
    constants = [n for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    rng.choice(constants).value = rng.choice(
        (0, -1, 1, 2, 100, 1.5, -0.0, 2**31, 2**63, "text", None, True, b"bytes", 2j, ..., "")
    )


def _operator(rng: random.Random, tree: ast.AST) -> None:
    binary = [ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult,
              ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift]  # fmt: skip
    compare = [ast.Lt, ast.Gt, ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn]
    nodes = [n for n in ast.walk(tree) if isinstance(n, (ast.BinOp, ast.Compare, ast.UnaryOp))]
    node = rng.choice(nodes)
    if isinstance(node, ast.BinOp):
        node.op = rng.choice(binary)()
    elif isinstance(node, ast.Compare):
        node.ops[0] = rng.choice(compare)()
    else:
        node.op = rng.choice([ast.Not, ast.USub, ast.Invert])()


# -- what came of it ---------------------------------------------------------------------------


def ending(source: str) -> Ending:
    """Execute a module and compile every script of it.

    Args:
        source: the text of a module.

    Returns:
        How it ended.

    Raises:
        Nothing.

    Example:
        >>> ending("x = 1").kind
        'not counted'
    """
    name = f"<mutation {next(_files)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"__name__": "mutation"}
    try:
        with warnings.catch_warnings(), time_limit(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            try:
                exec(compile(source, name, "exec"), space)  # noqa: S102 - running it is the point
            except EagerError:
                return Ending("not counted")  # the module itself calls a script
            except OnnxwrightError:
                raise
            except Exception as error:
                if _is_ours(error):
                    raise
                return Ending("not counted")
            scripts = [v for v in space.values() if callable(getattr(v, "to_model_proto", None))]
            if not scripts:
                return Ending("not counted")
            for script in scripts:
                script.to_function_proto()
            scripts[-1].to_model_proto()
    except OnnxwrightError as error:
        return _judged(error, source)
    except BaseException as error:  # noqa: BLE001 - what must not happen
        return Ending("WRONG", _short(error), source)
    finally:
        del linecache.cache[name]
    return Ending("model")


def _judged(error: OnnxwrightError, source: str) -> Ending:
    try:
        text = str(error)
    except Exception as failure:  # noqa: BLE001 - the rendering itself is broken
        return Ending("WRONG", f"rendering: {_short(failure)}", source)
    if isinstance(error, InternalError) or not isinstance(error, ScriptError):
        return Ending("WRONG", f"{type(error).__name__}: {text}\n{_cause(error)}", source)
    for diagnostic in error.diagnostics:
        if diagnostic.span is None:
            return Ending("WRONG", f"no position: {text}\n{_cause(error)}", source)
    return Ending("error")


def _cause(error: BaseException) -> str:
    origin = error.__cause__ or error.__context__ or error
    return "".join(traceback.format_exception(origin)[-4:])


def _short(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)[-4:])


def _is_ours(error: BaseException) -> bool:
    """Whether onnxwright was at work when it was raised, and not Python alone."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return any(file.startswith(HOME) for file in files)


@contextlib.contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Turn a hang into a `TimeoutError`, where the platform and the thread allow it."""

    def stop(_number: int, _frame: object) -> None:
        raise TimeoutError(f"it takes longer than {seconds} seconds")

    try:
        before = signal.signal(signal.SIGPROF, stop)
    except (ValueError, AttributeError):
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of this process's own time
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run_mutations(
    sources: Sequence[str],
    count: int,
    seed: int = 0,
    report: Callable[[Ending], None] = lambda _: None,
) -> Counter[str]:
    """Try mutations until `count` of them counted.

    Args:
        sources: valid module texts.
        count: how many mutations must end in a model or an error.
        seed: the same seed gives the same mutations.
        report: called with every ending that must not be.

    Returns:
        How often each kind of ending came.

    Raises:
        Nothing.

    Example:
        >>> run_mutations([], 0)
        Counter()
    """
    kinds: Counter[str] = Counter()
    damaged = mutations(sources, seed)
    while sum(kinds.values()) - kinds["not counted"] < count:
        end = ending(next(damaged))
        kinds[end.kind] += 1
        if end.kind == "WRONG":
            report(end)
    return +kinds


def _share(task: tuple[Sequence[str], int, int]) -> tuple[Counter[str], list[Ending]]:
    """The mutations of one seed, and the endings that must not be."""
    wrong: list[Ending] = []
    return run_mutations(*task, wrong.append), wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Run many mutations and print a table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.mutations")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5, help="failures to print")
    parser.add_argument("-n", type=int, default=0, help="processes; 0 for this one")
    parser.add_argument("--scheduler", help="run on this dask scheduler")
    parser.add_argument("files", nargs="*", type=Path, help="valid modules to damage")
    given = parser.parse_args(arguments)
    wrong: list[Ending] = []
    sources = [file.read_text(encoding="utf-8") for file in given.files]
    # Each share has a seed of its own: the same on one process and on many.
    shares = range(given.seed, given.seed + -(-given.count // _SHARE))
    tasks = {f"seed {seed}": (sources, min(_SHARE, given.count), seed) for seed in shares}
    kinds: Counter[str] = Counter()
    for name, found in run_tasks(_share, tasks, Cluster(given.n, given.scheduler)):
        if isinstance(found, Lost):
            found = Counter({"WRONG": 1}), [Ending("WRONG", found.why, f"mutations of {name}")]
        kinds += found[0]
        wrong += found[1]
    lasts = Counter(end.text.strip().rsplit("\n", 1)[-1][:150] for end in wrong)
    shown: set[str] = set()
    for end in wrong:
        last = end.text.strip().rsplit("\n", 1)[-1][:60]
        if last not in shown and len(shown) < given.show:
            shown.add(last)
            print(f"{end.source}\n{end.text}\n{'-' * 80}")
    for text, times in lasts.most_common(30):
        print(f"{times:5}  {text}")
    print("\n".join(f"{kind:12} {number:6}" for kind, number in sorted(kinds.items())))
    return 1 if kinds["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
