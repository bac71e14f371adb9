"""`onnxwright completion bash`: a shell's completion, written from the parser itself."""

from __future__ import annotations

import argparse
from argparse import Namespace
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxwright.cli.shared.console import OK
from onnxwright.cli.shared.grammar import command

if TYPE_CHECKING:
    from onnxwright.cli.shared.grammar import Commands


SHELLS = ("bash", "zsh", "fish")


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "completion",
        "print what makes a shell complete this command",
        [
            'eval "$(onnxwright completion bash)"    # in ~/.bashrc',
            'eval "$(onnxwright completion zsh)"     # in ~/.zshrc, after compinit',
            "onnxwright completion fish > ~/.config/fish/completions/onnxwright.fish",
        ],
        _run,
    )
    parser.add_argument("shell", choices=SHELLS)


@dataclass(frozen=True)
class Option:
    """One option of a command: its spellings, its help, what it takes."""

    names: tuple[str, ...]
    words: str
    choices: tuple[str, ...]
    takes: bool


@dataclass(frozen=True)
class Command:
    """One command: its help, its options, the choices of its first argument."""

    name: str
    words: str
    options: tuple[Option, ...]
    choices: tuple[str, ...]


def commands_of(parser: argparse.ArgumentParser) -> list[Command]:
    """What can be completed, as data.

    Args:
        parser: the whole grammar.

    Returns:
        The commands in order.
    """
    listed = []
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        words = {c.dest: c.help or "" for c in action._choices_actions}
        for name, sub in action.choices.items():
            options: list[Option] = []
            choices: tuple[str, ...] = ()
            for inner in sub._actions:
                picks = tuple(map(str, inner.choices or ()))
                if inner.option_strings:
                    spelled = tuple(inner.option_strings)
                    options.append(Option(spelled, inner.help or "", picks, inner.nargs != 0))
                elif picks:
                    choices = picks
            listed.append(Command(name, words.get(name, ""), tuple(options), choices))
    return listed


def _run(given: Namespace) -> int:
    listed = commands_of(given.grammar)
    writers = {"bash": bash, "zsh": zsh, "fish": fish}
    print(writers[given.shell](listed), end="")
    return OK


def bash(commands: list[Command]) -> str:
    """The script for bash."""
    cases, values = [], []
    for c in commands:
        words = " ".join([*(n for o in c.options for n in o.names), *c.choices])
        cases.append(f"        {c.name}) words='{words}' ;;")
        for option in c.options:
            if option.choices:
                names = "|".join(f"{c.name}:{n}" for n in option.names)
                values.append(f"        {names}) words='{' '.join(option.choices)}' ;;")
    names = " ".join(c.name for c in commands)
    newline = "\n"
    return f"""\
# Completion of onnxwright for bash.
_onnxwright() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words=''
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{names} --help --version' -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}:$previous" in
{newline.join(values)}
    esac
    if [ -z "$words" ]; then
        case "${{COMP_WORDS[1]}}" in
{newline.join(cases)}
        esac
        if [[ "$current" != -* ]]; then
            local choice
            while IFS= read -r choice; do COMPREPLY+=("$choice"); done \\
                < <(compgen -f -- "$current")
            compopt -o filenames 2> /dev/null
            words=$(printf '%s ' $words | tr ' ' '\\n' | grep -v '^-')
        fi
    fi
    COMPREPLY+=($(compgen -W "$words" -- "$current"))
}}
complete -F _onnxwright onnxwright
"""


def zsh(commands: list[Command]) -> str:
    """The script for zsh."""
    described = "\n".join(f"        {_quoted(f'{c.name}:{c.words}')}" for c in commands)
    cases = []
    for c in commands:
        specs = []
        for o in c.options:
            value = ""
            if o.takes:
                value = f":value:({' '.join(o.choices)})" if o.choices else ":value:_files"
            specs += [_quoted(f"{name}[{_plain(o.words)}]{value}") for name in o.names]
        specs.append(f"'*:argument:({' '.join(c.choices)})'" if c.choices else "'*:file:_files'")
        cases.append(f"        {c.name}) _arguments {' '.join(specs)} ;;")
    newline = "\n"
    return f"""\
#compdef onnxwright
# Completion of onnxwright for zsh.
_onnxwright() {{
    local -a commands
    commands=(
{described}
    )
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{newline.join(cases)}
    esac
}}
compdef _onnxwright onnxwright
"""


def fish(commands: list[Command]) -> str:
    """The script for fish."""
    lines = ["# Completion of onnxwright for fish."]
    start = "complete -c onnxwright -n"
    for c in commands:
        words = _quoted(c.words)
        lines.append(f"{start} __fish_use_subcommand -f -a {c.name} -d {words}")
    for c in commands:
        seen = f"{start} '__fish_seen_subcommand_from {c.name}'"
        for o in c.options:
            spelled = " ".join(
                f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in o.names
            )
            takes = f" -x -a '{' '.join(o.choices)}'" if o.choices else " -r" if o.takes else ""
            lines.append(f"{seen} {spelled}{takes} -d {_quoted(o.words)}")
        if c.choices:
            lines.append(f"{seen} -f -a '{' '.join(c.choices)}'")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Help without what zsh reads as a mark."""
    return text.replace("[", "(").replace("]", ")").replace(":", ",")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


__all__ = ["SHELLS", "Command", "Option", "add", "bash", "commands_of", "fish", "zsh"]
