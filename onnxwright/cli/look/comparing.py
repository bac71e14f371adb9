"""`diff A B` compares what two models are, `compare A B` what they compute."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from onnxwright.cli.run.running import INPUTS, check_provider, outputs_of
from onnxwright.cli.shared import values
from onnxwright.cli.shared.console import DIFFERS, OK, CliError, print_json, progress, wants_color
from onnxwright.cli.shared.files import Loaded, load, write
from onnxwright.cli.shared.grammar import (
    COLOR,
    JSON,
    SOURCES,
    argument,
    at_least,
    command,
    flag,
    numbers,
)
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.text import clean

_COLOURS = {"+": "32", "-": "31", "~": "33", ">": "36"}


_BOTH = (
    argument("a", "A", "a file, FILE.py:fn, or - for a pipe"),
    argument("b", "B", "likewise"),
)


def _load_two(args: Namespace, *, function: bool = False) -> tuple[Loaded, Loaded]:
    if args.a == args.b == "-":
        raise CliError("only one of the two can come through the pipe")
    return load(args.a, function=function), load(args.b, function=function)


@command(
    "diff",
    "show what was added, removed, changed or rewired between two models",
    ["onnxwright diff old.onnx new.onnx", "onnxwright diff a.onnx b.onnx --html diff.html"],
    *_BOTH,
    argument("--limit", "N", "show the first N differences", type=at_least(0)),
    flag("-b --brief", "a line for each place, and equal ones once"),
    argument("--html", "FILE", "write a page with both side by side"),
    flag("-q --quiet", "only the exit status"),
    JSON,
    COLOR,
)
def _diff(args: Namespace) -> int:
    from onnxwright.compare.diffing import diff

    left, right = _load_two(args, function=True)
    if type(left.proto) is not type(right.proto):
        raise CliError(f"one is a model, the other a function: {left.label}, {right.label}")
    difference = diff(left.source, right.source)
    if args.html:
        write(args.html, difference.html(f"{left.label} and {right.label}"))
    if args.json:
        print_json(
            {"same": not difference, "summary": difference.summary(), "changes": difference.data()}
        )
    elif not args.quiet and args.html != "-":
        text = difference.brief(args.limit) if args.brief else difference.text(args.limit)
        lines = [clean(line) for line in text.splitlines()]
        if wants_color(args.color):
            lines = [_painted(line) for line in lines]
        print("\n".join(lines))
    return DIFFERS if difference else OK


def _painted(line: str) -> str:
    code = _COLOURS.get(line.strip()[:1]) if line.startswith("  ") else None
    return f"\x1b[{code}m{line}\x1b[0m" if code else line


@command(
    "compare",
    "run two models on the same inputs and compare what comes out",
    [
        "onnxwright compare a.onnx b.onnx --random --runs 10",
        "onnxwright compare model.py:fn model.onnx --inputs x.npz --rtol 1e-3",
    ],
    *_BOTH,
    *INPUTS,
    argument("--runs", "N", "with --random: how often", type=at_least(1), default=1),
    argument("--rtol", None, "relative tolerance (1e-4)", type=float, default=0.0001),
    argument("--atol", None, "absolute tolerance (1e-6)", type=float, default=1e-06),
    flag("--where", "find the first value inside that differs"),
    SOURCES,
    JSON,
)
def _compare(args: Namespace) -> int:
    from onnxwright.eager.debugging.divergence import difference, first_divergence

    check_provider(args)
    left, right = _load_two(args)
    _same_interface(left, right)
    runs = args.runs if args.random else 1
    report: dict[str, dict[str, Any]] = {}
    where = ""
    for number in progress(range(runs), runs, "comparing"):
        inputs = values.gather(
            left.proto, args.inputs, random=args.random, seed=args.seed + number,
            dims=numbers(args.dim),
        )  # fmt: skip
        theirs = dict(zip(values.needed(right.proto), inputs.values(), strict=False))
        theirs = {**theirs, **{k: v for k, v in inputs.items() if k in theirs}}
        one = _outputs(left, inputs, args)
        two = _outputs(right, theirs, args)
        for (name, x), y in zip(one.items(), two.values(), strict=True):
            reason = difference(x, y, rtol=args.rtol, atol=args.atol)
            entry = report.setdefault(name, {"same": True, "reason": "", "largest": 0.0})
            largest = _largest(x, y)
            if largest is not None:
                entry["largest"] = max(entry["largest"], largest)
            if reason and entry["same"]:
                entry |= {"same": False, "reason": reason, "seed": args.seed + number}
        if args.where and not where and not all(e["same"] for e in report.values()):
            divergence = first_divergence(
                left.source, _renamed(left, right), list(inputs.values()), rtol=args.rtol,
                atol=args.atol, sources=args.sources,
            )  # fmt: skip
            where = (
                str(divergence)
                if divergence is not None
                else "no value inside differs node by node"
            )
    same = all(entry["same"] for entry in report.values())
    if args.json:
        print_json({"same": same, "runs": runs, "outputs": report, "where": where or None})
        return OK if same else DIFFERS
    _print_report(report, runs, where)
    return OK if same else DIFFERS


def _outputs(loaded: Loaded, inputs: dict[str, Any], args: Namespace) -> dict[str, Any]:
    """What a model gives; where it fails, which of the two it was."""
    try:
        return outputs_of(loaded, inputs, args.evaluator, args.provider)
    except OnnxwrightError:
        print(clean(f"onnxwright compare: {loaded.label} fails:"), file=sys.stderr)
        raise


def _renamed(left: Loaded, right: Loaded) -> Any:
    """The second model with the names that the first has for the same values."""
    from onnxwright.compare.value_renaming import with_names_of

    folders = [str(x.path.parent) if x.path is not None else "." for x in (left, right)]
    renamed = with_names_of(left.proto, right.proto, (folders[0], folders[1]))
    return right.source if renamed is right.proto else renamed


def _print_report(report: dict[str, dict[str, Any]], runs: int, where: str) -> None:
    for name, entry in report.items():
        words = "same" if entry["same"] else f"DIFFERS: {entry['reason']}"
        print(clean(f"{name}: {words} (largest difference {entry['largest']:.3g})"))
    if where:
        print("\n" + "\n".join(map(clean, where.splitlines())))
    wrong = sum(not entry["same"] for entry in report.values())
    times = f" in {runs} runs" if runs > 1 else ""
    many = f"{len(report)} output{'' if len(report) == 1 else 's'}"
    print(f"{many}{times}, {wrong} differ" if wrong else f"all outputs agree{times}")


def _same_interface(left: Loaded, right: Loaded) -> None:
    for what, one, two in (
        ("inputs", values.needed(left.proto), values.needed(right.proto)),
        ("outputs", left.proto.graph.output, right.proto.graph.output),
    ):
        if len(one) != len(two):
            raise CliError(
                f"{left.label} has {len(one)} {what}, {right.label} has {len(two)}", DIFFERS
            )


def _largest(x: Any, y: Any) -> float | None:
    """The largest absolute difference of two arrays of numbers; None for anything else."""
    import numpy as np

    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)) or x.shape != y.shape:
        return None
    if object in (x.dtype, y.dtype) or not x.size:
        return None
    wide = np.complex128 if "c" in (x.dtype.kind, y.dtype.kind) else np.float64
    with np.errstate(all="ignore"):
        distance = np.abs(x.astype(wide) - y.astype(wide))
    return float(np.nan_to_num(distance[~np.isnan(distance)], posinf=np.inf).max(initial=0.0))
