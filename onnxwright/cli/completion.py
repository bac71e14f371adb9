"""`onnxwright completion bash`: a shell's completion, written from the declared commands."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from onnxwright.cli.shared.console import OK
from onnxwright.cli.shared.grammar import Argument, Command, choice, command

SHELLS = ("bash", "zsh", "fish")
_HELP = Argument(("-h", "--help"), "show this help message and exit", {"action": "help"})


@command(
    "completion",
    "print what makes a shell complete this command",
    [
        'eval "$(onnxwright completion bash)"    # in ~/.bashrc',
        'eval "$(onnxwright completion zsh)"     # in ~/.zshrc, after compinit',
        "onnxwright completion fish > ~/.config/fish/completions/onnxwright.fish",
    ],
    choice("shell", SHELLS),
)
def _run(args: Namespace) -> int:
    writers = {"bash": bash, "zsh": zsh, "fish": fish}
    print(writers[args.shell](args.commands), end="")
    return OK


def _options(command: Command) -> list[Argument]:
    """The options of a command, `--help` before them."""
    return [_HELP, *(one for one in command.arguments if one.is_option)]


def _words(command: Command) -> str:
    """The words that the arguments of a command take, with spaces."""
    return " ".join(w for one in command.arguments if not one.is_option for w in one.choices)


def bash(commands: Sequence[Command]) -> str:
    """The script for bash."""
    cases, values = [], []
    for c in commands:
        words = " ".join([*(n for o in _options(c) for n in o.names), *_words(c).split()])
        cases.append(f"        {c.name}) words='{words}' ;;")
        for option in _options(c):
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


def zsh(commands: Sequence[Command]) -> str:
    """The script for zsh."""
    described = "\n".join(f"        {_quoted(f'{c.name}:{c.words}')}" for c in commands)
    cases = []
    for c in commands:
        specs = []
        for o in _options(c):
            value = ""
            if o.takes_value:
                value = f":value:({' '.join(o.choices)})" if o.choices else ":value:_files"
            specs += [_quoted(f"{name}[{_plain(o.words or '')}]{value}") for name in o.names]
        specs.append(f"'*:argument:({_words(c)})'" if _words(c) else "'*:file:_files'")
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


def fish(commands: Sequence[Command]) -> str:
    """The script for fish."""
    lines = ["# Completion of onnxwright for fish."]
    start = "complete -c onnxwright -n"
    for c in commands:
        words = _quoted(c.words)
        lines.append(f"{start} __fish_use_subcommand -f -a {c.name} -d {words}")
    for c in commands:
        seen = f"{start} '__fish_seen_subcommand_from {c.name}'"
        for o in _options(c):
            spelled = " ".join(
                f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in o.names
            )
            takes = (
                f" -x -a '{' '.join(o.choices)}'" if o.choices else " -r" if o.takes_value else ""
            )
            lines.append(f"{seen} {spelled}{takes} -d {_quoted(o.words or '')}")
        if _words(c):
            lines.append(f"{seen} -f -a '{_words(c)}'")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Help without what zsh reads as a mark."""
    return text.replace("[", "(").replace("]", ")").replace(":", ",")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
