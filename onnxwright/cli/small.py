"""`check`, `explain` and `gen-stubs`: commands that need no model."""

from __future__ import annotations

from typing import Any

from onnxwright.cli.console import wants_color
from onnxwright.cli.grammar import add_color, command


def add(commands: Any) -> None:
    """Add the commands to the parser."""
    check = command(
        commands, "check", "compile every script of Python files", ["onnxwright check model.py"],
        _check,
    )  # fmt: skip
    check.add_argument("files", nargs="+", metavar="FILE.py")
    add_color(check)
    explain = command(
        commands, "explain", "print the page of an error code", ["onnxwright explain OW302"],
        _explain,
    )  # fmt: skip
    explain.add_argument("code", nargs="?", help="such as OW302; without it all codes are listed")
    stubs = command(
        commands, "gen-stubs", "write the type stubs of the operators of the installed onnx",
        ["onnxwright gen-stubs", "onnxwright gen-stubs --check"], _stubs,
    )  # fmt: skip
    stubs.add_argument("--check", action="store_true", help="write nothing; 1 where stale")


def _check(given: Any) -> int:
    from onnxwright.cli.check import check_files

    return check_files(given.files, color=wants_color(given.color))


def _explain(given: Any) -> int:
    from onnxwright.cli.explain import explain_code

    return explain_code(given.code)


def _stubs(given: Any) -> int:
    from onnxwright.opset.stubs import main

    return main(["--check"] if given.check else [])


__all__ = ["add"]
