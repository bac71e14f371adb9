"""How a command is declared: its arguments as data, and those that several commands have."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from onnxwright.cli.shared.console import CliError
from onnxwright.diagnostics.text import as_utf8
from onnxwright.errors import Message

if TYPE_CHECKING:
    # What `add_subparsers` returns.
    Commands: TypeAlias = argparse._SubParsersAction[Any]


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


@dataclass(frozen=True)
class Argument:
    """One argument or option of a command.

    Attributes:
        names: its spellings; one without a hyphen for an argument that is given by its place.
        words: its help; None for one that says enough by its name.
        settings: what else `add_argument` of argparse takes.
        group: of the options of a command with the same group only one may be given.
    """

    names: tuple[str, ...]
    words: str | None
    settings: Mapping[str, Any]
    group: str = ""

    @property
    def is_option(self) -> bool:
        """Whether it starts with a hyphen."""
        return self.names[0].startswith("-")

    @property
    def takes_value(self) -> bool:
        """Whether a word follows it."""
        return self.settings.get("action") not in ("store_true", "help")

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it takes; none where others are possible."""
        return tuple(map(str, self.settings.get("choices") or ()))


def argument(
    names: str, metavar: str | None, words: str | None = None, **settings: Any
) -> Argument:
    """An argument, or an option that takes a value.

    Args:
        names: its spellings, with spaces: `"-o --output"`.
        metavar: what the help calls the value.
        settings: what `add_argument` of argparse takes.

    Example:
        >>> argument("-o --output", "FILE", "- for a pipe").names
        ('-o', '--output')
    """
    more = settings if metavar is None else {"metavar": metavar, **settings}
    return Argument(tuple(names.split()), words, more)


def flag(names: str, words: str, *, group: str = "") -> Argument:
    """An option without a value: its attribute is True where it is given.

    Args:
        names: its spellings, with spaces.
        group: as `Argument.group`.
    """
    return Argument(tuple(names.split()), words, {"action": "store_true"}, group)


def choice(
    names: str, choices: Sequence[Any], words: str | None = None, **settings: Any
) -> Argument:
    """An argument or option that takes one of a few words.

    Args:
        names: its spellings, with spaces.
        settings: what `add_argument` of argparse takes.
    """
    return Argument(tuple(names.split()), words, {"choices": tuple(choices), **settings})


@dataclass(frozen=True)
class Command:
    """One command: the parser, the help and the completion of shells are made of it.

    Attributes:
        name: what the user types.
        words: what it does, for the list of commands.
        examples: command lines, shown under the help.
        arguments: its arguments and options, in the order of the help.
        options: the names of arguments of the function behind it -> the options here, for messages.
        run: carries it out and gives the exit status.
    """

    name: str
    words: str
    examples: Sequence[str]
    arguments: Sequence[Argument]
    options: Mapping[str, str]
    run: Callable[[argparse.Namespace], int]

    def add_to(self, commands: Commands) -> None:
        """Add it to what `add_subparsers` gave."""
        lines = "\n".join(f"  {example}" for example in self.examples)
        parser: argparse.ArgumentParser = commands.add_parser(
            self.name,
            help=self.words,
            description=f"{self.words[0].upper()}{self.words[1:]}.",
            epilog=f"example{'s' if len(self.examples) > 1 else ''}:\n{lines}",
            formatter_class=Formatter,
        )
        groups: dict[str, Any] = {"": parser}
        for one in self.arguments:
            if one.group not in groups:
                groups[one.group] = parser.add_mutually_exclusive_group()
            groups[one.group].add_argument(*one.names, help=one.words, **one.settings)
        parser.set_defaults(run=self.run, parser=parser, options=self.options)


def command(
    name: str,
    words: str,
    examples: Sequence[str],
    *arguments: Argument,
    options: Mapping[str, str] | None = None,
) -> Callable[[Callable[[argparse.Namespace], int]], Command]:
    """Declare a command; a decorator of the function that carries it out.

    Args:
        name, words, examples, arguments, options: as the attributes of `Command`.

    Returns:
        The decorator, which gives the `Command`.
    """
    return lambda run: Command(name, words, examples, arguments, options or {}, run)


def at_least(least: int) -> Callable[[str], int]:
    """The type of an option that takes a number which may not be too small.

    Example:
        >>> at_least(1)("3")
        3
    """

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text} is not a number from {least} on")
        return value

    return number


def pairs(texts: Sequence[str] | None, takes: str) -> list[tuple[str, str]]:
    """The values of an option that takes `NAME=VALUE`, in order.

    Args:
        texts: what the user wrote; None where the option is not given.
        takes: what the option takes, for the error: "--connect takes NAME=VALUE".

    Raises:
        CliError: one is not such a pair.

    Example:
        >>> pairs(["y=x", "z=a=b"], "--connect takes NAME=VALUE")
        [('y', 'x'), ('z', 'a=b')]
    """
    parts = [as_utf8(text).partition("=") for text in texts or ()]
    for text, (name, sign, _) in zip(texts or (), parts, strict=True):
        if not name or not sign:
            raise CliError(f"{takes}, not {text}")
    return [(name, value) for name, _, value in parts]


def numbers(
    texts: Sequence[str] | None, takes: str = "--dim takes NAME=SIZE, such as N=4"
) -> dict[str, int]:
    """The values of an option that takes `NAME=NUMBER`, as a dictionary.

    Args:
        texts, takes: as for `pairs`; a name may hold a sign of equality.

    Raises:
        CliError: one is not such a pair.

    Example:
        >>> numbers(["N=4", "batch=1"])
        {'N': 4, 'batch': 1}
    """
    lengths = {}
    for text in texts or ():
        name, _, number = as_utf8(text).rpartition("=")
        if not name or not number.isdecimal():
            raise CliError(f"{takes}, not {text}")
        lengths[name] = int(number)
    return lengths


MODEL = argument("model", "MODEL", "a file, FILE.py:fn, or - for a pipe")
JSON = flag("--json", "print JSON, for programs")
COLOR = choice("--color", ("auto", "always", "never"), default="auto")
DIMS = argument("--dim", "NAME=SIZE", "the size of a symbolic dimension", action="append")
SOURCES = argument(
    "--sources",
    "FILE.py",
    "Python files, or folders of them, whose lines are shown where the model names them",
    nargs="+",
)
