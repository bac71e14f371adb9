"""The entry point of the command `onnxwright`: reads the command line and starts one command."""

from __future__ import annotations

import argparse
import dataclasses
import io
import json
import os
import sys
import traceback
import warnings
from argparse import Namespace
from collections.abc import Sequence
from typing import Any, TextIO

from onnxwright.cli import completion
from onnxwright.cli.change import changing, optimizing, parts, quantizing
from onnxwright.cli.check import node_tests, small, sweeping
from onnxwright.cli.export import compiling, scripts
from onnxwright.cli.look import comparing, looking
from onnxwright.cli.migrate import command as migrate_command
from onnxwright.cli.run import running
from onnxwright.cli.shared.console import (
    BUG,
    DIFFERS,
    USAGE,
    CliError,
    escape_control_chars,
    print_json,
    wants_color,
)
from onnxwright.cli.shared.grammar import Command, Formatter, Parser, in_words_of
from onnxwright.errors import (
    ConversionValueError,
    Message,
    ModelError,
    ModelToolError,
    OnnxwrightError,
    OnnxwrightWarning,
)
from onnxwright.version import __version__

_BUG = "\nThis is a bug in onnxwright; please report it with the text above."
# A broken model or a wrong option: the command did not run.
_CANNOT_RUN = (ModelError, ModelToolError, ConversionValueError)
_WRONG_OPTIONS = ("OW853",)  # of the optimizer: errors of a rule in a script have the same class
# The modules of commands, in the order `--help` shows them.
GROUPS = (
    small,
    compiling,
    running,
    scripts,
    looking,
    changing,
    optimizing,
    parts,
    quantizing,
    migrate_command,
    comparing,
    node_tests,
    sweeping,
    completion,
)
COMMANDS = tuple(c for group in GROUPS for c in vars(group).values() if isinstance(c, Command))


def parser() -> argparse.ArgumentParser:
    """The command line's grammar.

    Returns:
        The parser; each command sets `run`, the function that carries it out.

    Example:
        >>> parser().parse_args(["explain", "OW302"]).command
        'explain'
    """
    top = Parser(
        prog="onnxwright",
        description="Write ONNX functions and models in plain Python, and look at any model.",
        epilog="Exit status: 0 fine, 1 something differs or failed, 2 the command could not run,\n"
        "3 a bug in onnxwright, 130 stopped by Ctrl-C.\n"
        "MODEL is a file, FILE.py:fn for a script, or - for a pipe.\n"
        "example: onnxwright compile model.py:fn -o - | onnxwright show -",
        formatter_class=Formatter,
    )
    top.add_argument("--version", action="version", version=f"onnxwright {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    top.set_defaults(commands=COMMANDS)  # what completion writes down
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the command line after the program's name, `sys.argv` where None.

    Returns:
        The exit status: 0 fine, 1 the command found something wrong, 2 it could not be run, 3 a
        bug of ours.

    Raises:
        SystemExit: the command line is not understood, or help was asked for.

    Example:
        >>> main(["explain", "OW000"])
        2
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            # A terminal that cannot show a letter gets its number instead of an error.
            stream.reconfigure(errors="backslashreplace")
    args, unknown = parser().parse_known_args(arguments)
    if unknown:
        args.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        status = _carried_out(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of the pipe is closed (`| head`): the message has no reader.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print(f"\nonnxwright {args.command}: stopped", file=sys.stderr)
        return 130


def _carried_out(args: Namespace) -> int:
    """Run the command; say what went wrong without a traceback."""
    color = wants_color(getattr(args, "color", "auto"), sys.stderr)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            status: int = args.run(args)
            sys.stdout.flush()
            return status
    except CliError as error:
        return _report_error(args, str(error), error.status)
    except OnnxwrightError as error:
        wrong = error.diagnostics[0].code in _WRONG_OPTIONS
        status = USAGE if wrong or isinstance(error, _CANNOT_RUN) else DIFFERS
        options = getattr(args, "options", {})
        messages = [in_words_of(options, _without_us(d)) for d in error.diagnostics]
        return _diagnosed(args, messages, status, color=color)
    except BrokenPipeError:
        raise
    except (OSError, MemoryError) as error:
        words = getattr(error, "strerror", None) or str(error) or "out of memory"
        named = getattr(error, "filename", None)
        return _report_error(args, f"{named}: {words}" if named else words, USAGE)
    except Exception:  # noqa: BLE001 - anything else is a bug of this program, and 1 means something
        traceback.print_exc()
        print(_BUG, file=sys.stderr)
        return BUG


def _report_error(args: Namespace, words: str, status: int) -> int:
    """What the user has to know: on standard error, and as JSON where that was asked for."""
    print(escape_control_chars(f"onnxwright {args.command}: {words}"), file=sys.stderr)
    if getattr(args, "json", False):
        print_json({"error": words})
    return status


def _diagnosed(args: Namespace, messages: list[Message], status: int, *, color: bool) -> int:
    """Messages with their places, likewise."""
    from onnxwright.diagnostics.render import render_all, render_json

    print(escape_control_chars(render_all(messages, color=color), color=color), file=sys.stderr)
    if getattr(args, "json", False):
        data = [json.loads(render_json(d)) for d in messages]
        title = data[0]["title"] if data else "unknown"
        print_json({"error": title, "diagnostics": data})
    return status


def _without_us(diagnostic: Message) -> Message:
    """A message that points at what started this command points at nothing of the user's."""
    span = diagnostic.span
    # `python -m` starts us from a file in Python 3.10, later from "<frozen runpy>".
    starter = getattr(sys.modules.get("runpy"), "__file__", None)
    if span is None or not (span.file.startswith("<frozen") or span.file in (sys.argv[0], starter)):
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
    text: Any
    if isinstance(message, OnnxwrightWarning):
        text = OnnxwrightWarning(_without_us(message.diagnostic))
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line).rstrip()
    print(text, file=file or sys.stderr)
