"""The entry point of the command `onnxwright`: reads the command line and starts one command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the command line after the program's name, `sys.argv` where None.

    Returns:
        The exit status: 0 fine, 1 the command found something wrong, 2 it could not be run.

    Raises:
        SystemExit: the command line is not understood, or help was asked for.

    Source:
        DESIGN sections 1 and 4.

    Example:
        >>> main(["explain", "OW000"])
        2
    """
    parser = argparse.ArgumentParser(
        prog="onnxwright", description="Write ONNX functions and models in plain Python."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    explain = commands.add_parser("explain", help="print the page of an error code")
    explain.add_argument("code", nargs="?", help="such as OW302; without it all codes are listed")
    check = commands.add_parser("check", help="compile every script of Python files")
    check.add_argument("files", nargs="+", metavar="FILE.py")
    check.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    given = parser.parse_args(arguments)
    if given.command == "explain":
        from onnxwright.cli.explain import explain_code

        return explain_code(given.code)
    from onnxwright.cli.check import check_files

    color = given.color == "always" or (given.color == "auto" and sys.stdout.isatty())
    return check_files(given.files, color=color)


__all__ = ["main"]
