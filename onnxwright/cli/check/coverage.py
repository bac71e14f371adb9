"""`coverage`: which ATen operators there are, in which dtypes and modes, and why not in others."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxwright.cli.check.sweeping import need_torch
from onnxwright.cli.shared.console import OK, CliError
from onnxwright.cli.shared.files import write
from onnxwright.cli.shared.grammar import command

if TYPE_CHECKING:
    from onnxwright.cli.shared.grammar import Commands


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "coverage",
        "show which ATen operators have a function, by dtype and mode, with reasons for gaps",
        [
            "onnxwright coverage --summary",
            "onnxwright sweep --json sweep.json",
            "onnxwright coverage --report sweep.json --html coverage.html",
        ],
        _coverage,
    )
    parser.add_argument("--report", metavar="FILE", help="the JSON of a sweep: what passed")
    parser.add_argument("--names", metavar="FILE", help="a JSON list of operators to look for")
    parser.add_argument("--op", action="append", metavar="NAME", help="only this operator")
    parser.add_argument("--summary", action="store_true", help="no line for each operator")
    parser.add_argument("--json", metavar="FILE", help="write the table as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the table as a page")


def _coverage(given: Namespace) -> int:
    need_torch("coverage")
    from onnxwright.sweep.coverage import coverage

    report = _read(given.report, dict, "the JSON of a sweep") if given.report else None
    if report is not None and "units" not in report:
        raise CliError(f"{given.report} is not the JSON of a sweep")
    names = _read(given.names, list, "a JSON list of names") if given.names else []
    table = coverage(report, names, given.op or ())
    if given.op and not table.rows:
        raise CliError(f"there is no function for {', '.join(given.op)}")
    if given.json:
        write(given.json, json.dumps(table.data(), indent=1))
    if given.html:
        write(given.html, table.html())
    print(table.text(table=not given.summary))
    return OK


def _read(path: str, kind: type, what: str) -> Any:
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise CliError(f"{path} is not {what}: {error}") from error
    if not isinstance(value, kind):
        raise CliError(f"{path} is not {what}")
    return value


__all__ = ["add"]
