"""`sweep`: every ATen function against PyTorch's own samples."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from onnxwright.cli.console import DIFFERS, OK, Bar, Trouble
from onnxwright.cli.files import write
from onnxwright.cli.grammar import command


def add(commands: Any) -> None:
    """Add the command to the parser."""
    made = command(
        commands,
        "sweep",
        "run PyTorch's OpInfo samples through the ATen functions and compare with torch",
        [
            "onnxwright sweep --op clamp --op aten::add.Tensor --dtype float32",
            "onnxwright sweep -n auto --journal sweep.jsonl --resume --html sweep.html",
            "onnxwright sweep --mode export --dtype float32 --limit 2",
        ],
        _sweep,
    )
    made.add_argument("--op", action="append", metavar="NAME", help="an operator or OpInfo")
    made.add_argument("--module", action="append", metavar="NAME", help="functions of a module")
    made.add_argument("--dtype", action="append", metavar="DTYPE", help="such as float32")
    made.add_argument(
        "--mode", choices=("eager", "graph", "dynamic", "both", "all", "export"), default="both",
        help="eager, graph, both (the default), dynamic (symbolic sizes), all three, or export "
        "(every OpInfo exported as a module of one operator)",
    )  # fmt: skip
    made.add_argument("-n", default="auto", metavar="N", help="processes; auto, or 0 for this one")
    made.add_argument("--limit", type=int, metavar="N", help="N samples of each OpInfo and dtype")
    made.add_argument("--opset", type=int, metavar="N", help="the version of the opset")
    made.add_argument("--timeout", type=float, default=600.0, metavar="S", help="seconds a unit")
    made.add_argument("--journal", metavar="FILE", help="note finished units here")
    made.add_argument("--resume", action="store_true", help="go on with the journal")
    made.add_argument("--json", metavar="FILE", help="write the report as JSON")
    made.add_argument("--html", metavar="FILE", help="write the report as a page")


def need_torch(what: str) -> None:
    """End a command that needs PyTorch where there is none.

    Args:
        what: the command.

    Raises:
        Trouble: torch, or what its test samples need, is not installed.
    """
    from importlib.util import find_spec

    lacking = [name for name in ("torch", "expecttest") if find_spec(name) is None]
    if lacking:
        raise Trouble(
            f"`{what}` compares with PyTorch, and {' and '.join(lacking)} is not installed: "
            "pip install 'onnxwright[sweep]'"
        )


def _sweep(given: Any) -> int:
    need_torch("sweep")
    from onnxwright.testing import sweep as sweeping
    from onnxwright.testing import sweep_export, sweep_pool
    from onnxwright.testing.sweep_report import Report

    if given.resume and not given.journal:
        raise Trouble("--resume goes on with a journal: say which with --journal FILE")
    for dtype in given.dtype or ():
        if dtype not in sweeping.DTYPES:
            raise Trouble(f"--dtype is one of {', '.join(sweeping.DTYPES)}, not {dtype}")
    modes = {"both": ("eager", "graph"), "all": ("eager", "graph", "dynamic")}.get(
        given.mode, (given.mode,)
    )
    settings = sweep_pool.Settings(modes, given.limit, given.opset or sweeping.OPSET)
    exported = given.mode == sweep_export.EXPORT
    if exported and given.module:
        raise Trouble("--module names functions; --mode export runs OpInfos: name them with --op")
    todo = (sweep_export.export_units if exported else sweeping.units)(given.op, given.dtype)
    if given.module:
        todo = [u for u in todo if u.function.body.__module__.split(".")[-1] in given.module]
    if not todo:
        raise Trouble("no function with tests has such a name in such a dtype")
    journal = None
    if given.journal:
        try:
            journal = sweep_pool.Journal(Path(given.journal), settings, resume=given.resume)
        except ValueError as error:
            raise Trouble(f"{error}; leave --resume out to start again") from error
    bar = Bar(len(todo), "sweep")
    wrong: Counter[str] = Counter()

    def each(result: sweep_pool.UnitResult) -> None:
        wrong["n"] += sum(o.is_wrong for o in result.outcomes)
        bar.label = f"sweep, {wrong['n']} wrong" if wrong["n"] else "sweep"
        bar.step()

    begun = time.perf_counter()
    try:
        results = sweep_pool.sweep(
            todo, settings, workers=_workers(given.n), timeout=given.timeout, journal=journal,
            each=each,
        )  # fmt: skip
    finally:
        bar.close()
    asked = {"op": given.op, "dtype": given.dtype, "module": given.module, "workers": given.n}
    report = Report(settings, results, time.perf_counter() - begun, len(sweeping.infos()), asked)
    if given.json:
        write(given.json, json.dumps(report.data(), indent=1))
    if given.html:
        write(given.html, report.html())
    print(report.text())
    return DIFFERS if report.wrong else OK


def _workers(text: str) -> int:
    from onnxwright.testing.sweep_pool import processors

    if text == "auto":
        return processors()
    if not text.isdigit():
        raise Trouble(f"-n takes a number of processes or auto, not {text}")
    return int(text)


__all__ = ["add", "need_torch"]
