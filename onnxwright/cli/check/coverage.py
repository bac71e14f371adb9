"""`coverage`: which ATen operators there are, in which dtypes and modes, and why not in others."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from onnxwright.cli.check.sweeping import need_torch
from onnxwright.cli.shared.console import OK, CliError
from onnxwright.cli.shared.files import write
from onnxwright.cli.shared.grammar import argument, command, flag


@command(
    "coverage",
    "show which ATen operators have a function, by dtype and mode, with reasons for gaps",
    [
        "onnxwright coverage --summary",
        "onnxwright sweep --json sweep.json",
        "onnxwright coverage --report sweep.json --html coverage.html",
    ],
    argument("--report", "FILE", "the JSON of a sweep: what passed"),
    argument("--names", "FILE", "a JSON list of operators to look for"),
    argument("--op", "NAME", "only this operator", action="append"),
    flag("--summary", "no line for each operator"),
    argument("--json", "FILE", "write the table as JSON"),
    argument("--html", "FILE", "write the table as a page"),
)
def _coverage(args: Namespace) -> int:
    need_torch("coverage")
    from onnxwright.sweep.coverage import coverage

    report = _read(args.report, dict, "the JSON of a sweep") if args.report else None
    if report is not None and "units" not in report:
        raise CliError(f"{args.report} is not the JSON of a sweep")
    names = _read(args.names, list, "a JSON list of names") if args.names else []
    table = coverage(report, names, args.op or ())
    if args.op and not table.rows:
        raise CliError(f"there is no function for {', '.join(args.op)}")
    if args.json:
        write(args.json, json.dumps(table.data(), indent=1))
    if args.html:
        write(args.html, table.html())
    print(table.text(table=not args.summary))
    return OK


def _read(path: str, kind: type, what: str) -> Any:
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise CliError(f"{path} is not {what}: {error}") from error
    if not isinstance(value, kind):
        raise CliError(f"{path} is not {what}")
    return value
