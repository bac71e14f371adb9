"""The entry point of the command `onnxwright`: reads the command line and starts one command."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, TextIO

from onnxwright.cli import (
    comparing,
    compiling,
    completion,
    looking,
    running,
    scripts,
    small,
    sweeping,
)
from onnxwright.cli.console import DIFFERS, USAGE, Trouble, harmless, wants_color
from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import OnnxwrightError, OnnxwrightWarning
from onnxwright.version import __version__

# The groups of commands, in the order `--help` shows them.
GROUPS = (small, compiling, running, scripts, looking, comparing, sweeping, completion)


def parser() -> argparse.ArgumentParser:
    """The command line's grammar.

    Returns:
        The parser; each command sets `run`, the function that carries it out.

    Example:
        >>> parser().parse_args(["explain", "OW302"]).command
        'explain'
    """
    made = argparse.ArgumentParser(
        prog="onnxwright",
        description="Write ONNX functions and models in plain Python, and look at any model.",
        epilog="Exit status: 0 fine, 1 something differs or failed, 2 the command could not run.\n"
        "MODEL is a file, FILE.py:fn for a script, or - for a pipe.\n"
        "example: onnxwright compile model.py:fn -o - | onnxwright show -",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"onnxwright {__version__}")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for group in GROUPS:
        group.add(commands)
    return made


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
    given = parser().parse_args(arguments)
    color = wants_color(getattr(given, "color", "auto"), sys.stderr)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            status: int = given.run(given)
            sys.stdout.flush()
            return status
    except Trouble as trouble:
        print(harmless(f"onnxwright {given.command}: {trouble}"), file=sys.stderr)
        return trouble.status
    except OnnxwrightError as error:
        from onnxwright.diagnostics.render import render_all

        text = render_all(map(_without_us, error.diagnostics), color=color)
        print(harmless(text, color=color), file=sys.stderr)
        return DIFFERS
    except BrokenPipeError:
        # The reader of the pipe has gone (`| head`): nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print(f"\nonnxwright {given.command}: stopped", file=sys.stderr)
        return 130
    except (OSError, MemoryError) as error:
        print(f"onnxwright {given.command}: {str(error) or 'out of memory'}", file=sys.stderr)
        return USAGE


def _without_us(diagnostic: Diagnostic) -> Diagnostic:
    """A message that points at what started this command points at nothing of the user's."""
    span = diagnostic.span
    if span is None or not (span.file.startswith("<frozen") or span.file == sys.argv[0]):
        return diagnostic
    return dataclasses.replace(diagnostic, span=None)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A located warning is its text; others look as Python shows them."""
    text: Any = message
    if not isinstance(message, OnnxwrightWarning):
        text = warnings.formatwarning(message, category, filename, lineno, line).rstrip()
    print(text, file=file or sys.stderr)


__all__ = ["GROUPS", "main", "parser"]
