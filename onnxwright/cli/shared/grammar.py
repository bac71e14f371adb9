"""What the commands' parsers share: a help with an example, `--json`, `--color`, pairs."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from onnxwright.cli.shared.console import CliError
from onnxwright.diagnostics.text import as_utf8
from onnxwright.errors import Message

if TYPE_CHECKING:
    # What `add_subparsers` returns.
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help whose list of commands has each command and its words on one line."""

    def add_argument(self, action: argparse.Action) -> None:
        """Record an argument; argparse does not handle nested commands."""
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += 4


class Parser(argparse.ArgumentParser):
    """A parser that asks whether something near was meant, and says where the help is."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line and end with status 2."""
        wrong = re.search(r"(.*)invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if wrong is not None:
            near = difflib.get_close_matches(wrong[2], re.findall(r"[\w-]+", wrong[3]), 1)
            if near:
                what = wrong[1].removeprefix("argument ").removesuffix(": ").lower()
                message = f"there is no {what} {wrong[2]!r}; did you mean {near[0]!r}?"
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def in_words_of(options: Mapping[str, str], diagnostic: Message) -> Message:
    """A message of a function in the words of the command that called it.

    Args:
        options: the names of arguments -> the options of the command.
        diagnostic: the message.

    Returns:
        The message: `io_map` is `--connect`, and `io_map={'y': 'x'}` is `--connect y=x`.
    """
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(diagnostic):
        text = getattr(diagnostic, field.name)
        if isinstance(text, str) and field.init:
            for name, option in options.items():
                text = re.sub(rf"\b{name}=\{{'(.*?)': '(.*?)'\}}", rf"{option} \1=\2", text)
                text = option if text == name else text.replace(f"`{name}=`", f"`{option}`")
            changed[field.name] = text
    return dataclasses.replace(diagnostic, **changed)


def command(
    commands: Commands, name: str, words: str, examples: Sequence[str], run: Callable[[Any], int]
) -> argparse.ArgumentParser:
    """Add a command.

    Args:
        commands: what `add_subparsers` gave.
        name: what the user types.
        words: what it does, for the list of commands.
        examples: command lines, shown under the help.
        run: carries it out and gives the exit status.

    Returns:
        Its parser.
    """
    lines = "\n".join(f"  {example}" for example in examples)
    made: argparse.ArgumentParser = commands.add_parser(
        name,
        help=words,
        description=f"{words[0].upper()}{words[1:]}.",
        epilog=f"example{'s' if len(examples) > 1 else ''}:\n{lines}",
        formatter_class=Formatter,
    )
    made.set_defaults(run=run, parser=made)
    return made


def at_least(least: int) -> Callable[[str], int]:
    """The type of an option that takes a number which may not be too small.

    Args:
        least: the smallest number.

    Returns:
        What reads it.

    Example:
        >>> at_least(1)("3")
        3
    """

    def number(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = least - 1
        if found < least:
            raise argparse.ArgumentTypeError(f"{text} is not a number from {least} on")
        return found

    return number


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Give a command `--sources`."""
    parser.add_argument(
        "--sources", nargs="+", metavar="FILE.py",
        help="Python files, or folders of them, whose lines are shown where the model names them",
    )  # fmt: skip


def add_json(parser: argparse.ArgumentParser) -> None:
    """Give a command `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def add_color(parser: argparse.ArgumentParser) -> None:
    """Give a command `--color`."""
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")


def sizes(pairs: Sequence[str] | None) -> dict[str, int]:
    """`N=4` for symbolic dimensions, as a dictionary.

    Args:
        pairs: what the user wrote.

    Returns:
        Name -> size.

    Raises:
        CliError: one is not such a pair.

    Example:
        >>> sizes(["N=4", "batch=1"])
        {'N': 4, 'batch': 1}
    """
    found = {}
    for pair in pairs or ():
        name, _, size = as_utf8(pair).rpartition("=")
        if not name or not size.isdigit():
            raise CliError(f"--dim takes NAME=SIZE, such as N=4, not {pair}")
        found[name] = int(size)
    return found


def add_dims(parser: argparse.ArgumentParser) -> None:
    """Give a command `--dim N=4`."""
    parser.add_argument(
        "--dim", action="append", metavar="NAME=SIZE", help="the size of a symbolic dimension"
    )


__all__ = [
    "Formatter",
    "Parser",
    "add_color",
    "add_dims",
    "add_json",
    "at_least",
    "command",
    "sizes",
]
