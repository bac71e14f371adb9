"""`diff A B` compares what two models are, `compare A B` what they compute."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from onnxwright.cli.run.running import add_inputs, check_provider, outputs_of
from onnxwright.cli.shared import values
from onnxwright.cli.shared.console import DIFFERS, OK, CliError, print_json, progress, wants_color
from onnxwright.cli.shared.files import Loaded, load, write
from onnxwright.cli.shared.grammar import add_color, add_json, add_sources, at_least, command, sizes
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.text import clean

if TYPE_CHECKING:
    from onnxwright.cli.shared.grammar import Commands


_COLOURS = {"+": "32", "-": "31", "~": "33", ">": "36"}


def add(commands: Commands) -> None:
    """Add the commands to the parser."""
    parser = command(
        commands,
        "diff",
        "show what was added, removed, changed or rewired between two models",
        ["onnxwright diff old.onnx new.onnx", "onnxwright diff a.onnx b.onnx --html diff.html"],
        _diff,
    )
    _two(parser)
    parser.add_argument(
        "--limit", type=at_least(0), metavar="N", help="show the first N differences"
    )
    parser.add_argument(
        "-b", "--brief", action="store_true", help="a line for each place, and equal ones once"
    )
    parser.add_argument("--html", metavar="FILE", help="write a page with both side by side")
    parser.add_argument("-q", "--quiet", action="store_true", help="only the exit status")
    add_json(parser)
    add_color(parser)
    parser = command(
        commands,
        "compare",
        "run two models on the same inputs and compare what comes out",
        [
            "onnxwright compare a.onnx b.onnx --random --runs 10",
            "onnxwright compare model.py:fn model.onnx --inputs x.npz --rtol 1e-3",
        ],
        _compare,
    )
    _two(parser)
    add_inputs(parser)
    parser.add_argument(
        "--runs", type=at_least(1), default=1, metavar="N", help="with --random: how often"
    )
    parser.add_argument("--rtol", type=float, default=1e-4, help="relative tolerance (1e-4)")
    parser.add_argument("--atol", type=float, default=1e-6, help="absolute tolerance (1e-6)")
    parser.add_argument(
        "--where", action="store_true", help="find the first value inside that differs"
    )
    add_sources(parser)
    add_json(parser)


def _two(parser: Any) -> None:
    parser.add_argument("a", metavar="A", help="a file, FILE.py:fn, or - for a pipe")
    parser.add_argument("b", metavar="B", help="likewise")


def _load_two(given: Namespace, *, function: bool = False) -> tuple[Loaded, Loaded]:
    if given.a == given.b == "-":
        raise CliError("only one of the two can come through the pipe")
    return load(given.a, function=function), load(given.b, function=function)


def _diff(given: Namespace) -> int:
    from onnxwright.compare.diffing import diff

    left, right = _load_two(given, function=True)
    if type(left.proto) is not type(right.proto):
        raise CliError(f"one is a model, the other a function: {left.label}, {right.label}")
    difference = diff(left.source, right.source)
    if given.html:
        write(given.html, difference.html(f"{left.label} and {right.label}"))
    if given.json:
        print_json(
            {"same": not difference, "summary": difference.summary(), "changes": difference.data()}
        )
    elif not given.quiet and given.html != "-":
        text = difference.brief(given.limit) if given.brief else difference.text(given.limit)
        lines = [clean(line) for line in text.splitlines()]
        if wants_color(given.color):
            lines = [_painted(line) for line in lines]
        print("\n".join(lines))
    return DIFFERS if difference else OK


def _painted(line: str) -> str:
    code = _COLOURS.get(line.strip()[:1]) if line.startswith("  ") else None
    return f"\x1b[{code}m{line}\x1b[0m" if code else line


def _compare(given: Namespace) -> int:
    from onnxwright.eager.debugging.divergence import difference, first_divergence

    check_provider(given)
    left, right = _load_two(given)
    _same_interface(left, right)
    runs = given.runs if given.random else 1
    report: dict[str, dict[str, Any]] = {}
    where = ""
    for number in progress(range(runs), runs, "comparing"):
        inputs = values.gather(
            left.proto, given.inputs, random=given.random, seed=given.seed + number,
            dims=sizes(given.dim),
        )  # fmt: skip
        theirs = dict(zip(values.needed(right.proto), inputs.values(), strict=False))
        theirs = {**theirs, **{k: v for k, v in inputs.items() if k in theirs}}
        one = _outputs(left, inputs, given)
        two = _outputs(right, theirs, given)
        for (name, x), y in zip(one.items(), two.values(), strict=True):
            reason = difference(x, y, rtol=given.rtol, atol=given.atol)
            entry = report.setdefault(name, {"same": True, "reason": "", "largest": 0.0})
            largest = _largest(x, y)
            if largest is not None:
                entry["largest"] = max(entry["largest"], largest)
            if reason and entry["same"]:
                entry |= {"same": False, "reason": reason, "seed": given.seed + number}
        if given.where and not where and not all(e["same"] for e in report.values()):
            divergence = first_divergence(
                left.source, _renamed(left, right), list(inputs.values()), rtol=given.rtol,
                atol=given.atol, sources=given.sources,
            )  # fmt: skip
            where = (
                str(divergence)
                if divergence is not None
                else "no value inside differs node by node"
            )
    same = all(entry["same"] for entry in report.values())
    if given.json:
        print_json({"same": same, "runs": runs, "outputs": report, "where": where or None})
        return OK if same else DIFFERS
    _print_report(report, runs, where)
    return OK if same else DIFFERS


def _outputs(loaded: Loaded, inputs: dict[str, Any], given: Namespace) -> dict[str, Any]:
    """What a model gives; where it fails, which of the two it was."""
    try:
        return outputs_of(loaded, inputs, given.evaluator, given.provider)
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


__all__ = ["add"]
