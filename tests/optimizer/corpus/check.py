"""Models optimized and run: equal results at two sizes, nothing left for a second time.

    python -m tests.optimizer.corpus.check FOLDER ... [--level exact] [--target onnxruntime]

FOLDER is one that `python -m tests.optimizer.corpus FOLDER` wrote.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

import onnxwright as ow
from onnxwright.testing.proving import run_plainly
from onnxwright.verification.verifying import first_difference
from tests.optimizer.corpus.cases import Case, load


@dataclass(frozen=True)
class Row:
    """What was found of one model.

    Fields:
        name: the model.
        before, after: nodes, those of bodies and functions included, constants not.
        bytes_before, bytes_after: bytes of the files.
        seconds: of optimizing.
        trouble: what is wrong; None where all is well.
        runs: at how many sizes the model ran and was compared.
    """

    name: str
    before: int
    after: int
    bytes_before: int
    bytes_after: int
    seconds: float
    trouble: str | None
    runs: int


def operators(model: onnx.ModelProto, *, constants: bool = False) -> Counter[str]:
    """How often each operator is used, in bodies and functions too; constants if asked for."""
    counts: Counter[str] = Counter()
    waiting: list[Any] = [model.graph.node, *(f.node for f in model.functions)]
    while waiting:
        for node in waiting.pop():
            if constants or node.op_type != "Constant":
                counts[node.op_type] += 1
            for attr in node.attribute:
                waiting += [g.node for g in attr.graphs]
                if attr.HasField("g"):
                    waiting.append(attr.g.node)
    return counts


def check(case: Case, **options: Any) -> Row:
    """Optimize a model and look for what is wrong with the result.

    Args:
        case: the model and its inputs.
        options: of `ow.optimize`.

    Returns:
        What was found.
    """
    before = case.model.SerializeToString(deterministic=True)
    begun = time.perf_counter()
    try:
        optimized = ow.optimize(case.model, **options)
    except Exception as error:  # noqa: BLE001 - a crash is a row of the table
        count = operators(case.model).total()
        return Row(case.name, count, count, len(before), len(before), 0.0,
                   f"{type(error).__name__}: {str(error)[:200]}", 0)  # fmt: skip
    seconds = time.perf_counter() - begun
    runs = sum(run_plainly(case.model, feeds) is not None for feeds in case.feeds)
    trouble = _trouble(case, optimized, before, options) if runs else "does not run unoptimized"
    return Row(
        case.name, operators(case.model).total(), operators(optimized).total(), len(before),
        optimized.ByteSize(), seconds, trouble, runs,
    )  # fmt: skip


def _trouble(
    case: Case, optimized: onnx.ModelProto, before: bytes, options: dict[str, Any]
) -> str | None:
    if case.model.SerializeToString(deterministic=True) != before:
        return "the model that was given is changed"
    if list(optimized.graph.input) != list(case.model.graph.input):
        return "other inputs"
    if list(optimized.graph.output) != list(case.model.graph.output):
        return "other outputs"
    # A branch that gives a constant gives an initializer of the graph around it afterwards.
    if operators(optimized, constants=True).total() > operators(case.model, constants=True).total():
        return "more nodes"
    # Names of rules and of values cost some bytes; weights do not.
    if optimized.ByteSize() > 1.05 * len(before) + 4096:
        return f"more bytes: {len(before)} to {optimized.ByteSize()}"
    try:
        onnx.checker.check_model(optimized)
    except onnx.checker.ValidationError as error:
        return f"not valid: {error}"
    exact = options.get("level") == "exact"
    different = first_difference(case.model, optimized, exact=exact, feeds=case.feeds)
    if different is not None:
        return different
    again = ow.optimize(optimized, **options)
    if operators(again) != operators(optimized):
        return f"the second time {operators(optimized) - operators(again)} go"
    return None


def table(rows: list[Row]) -> str:
    """The rows as text, with their sum."""
    lines = [
        f"{'model':40}{'nodes':>7}{'after':>7}{'kept':>6}{'bytes':>10}{'after':>10}{'s':>7}  runs"
    ]
    for r in rows:
        kept = r.after / max(r.before, 1)
        lines.append(
            f"{r.name:40}{r.before:7}{r.after:7}{kept:6.2f}{r.bytes_before:10}{r.bytes_after:10}"
            f"{r.seconds:7.2f}{r.runs:6}  {r.trouble or ''}"
        )
    wrong = [r for r in rows if r.trouble]
    lines.append(
        f"{len(rows)} models, {sum(r.before for r in rows)} nodes before,"
        f" {sum(r.after for r in rows)} after, {sum(r.seconds for r in rows):.1f} s,"
        f" {len(wrong)} not well"
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Check models, and print the table."""
    parser = argparse.ArgumentParser(description="Optimize models and compare results.")
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--level", default="rounding")
    parser.add_argument("--target", default="any")
    args = parser.parse_args(arguments)
    files = [
        file
        for path in args.paths
        for file in (sorted(path.glob("*.onnx")) if path.is_dir() else [path])
    ]
    rows = [check(load(file), level=args.level, target=args.target) for file in files]
    print(table(rows))
    return int(any(r.trouble for r in rows))


if __name__ == "__main__":
    sys.exit(main())
