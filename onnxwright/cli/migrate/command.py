"""`onnxwright migrate FILE...`: imports of onnxscript and torch.onnx, and forms of annotations."""

from __future__ import annotations

import difflib
import io
import sys
import tokenize
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from onnxwright.cli.shared.console import DIFFERS, OK, CliError, print_json
from onnxwright.cli.shared.files import write
from onnxwright.cli.shared.grammar import add_json, command

if TYPE_CHECKING:
    from onnxwright.cli.migrate.migration import Migrated
    from onnxwright.cli.shared.grammar import Commands


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "migrate",
        "rewrite the imports of files written for onnxscript or torch.onnx",
        [
            "onnxwright migrate model.py --diff",
            "onnxwright migrate src/*.py --write",
            "onnxwright migrate src/*.py --annotated --write",
        ],
        _run,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="Python files")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--annotated", action="store_true",
        help='instead: write FLOAT["N", 3] in annotations as Annotated[FLOAT, "N", 3], which '
        "every type checker accepts",
    )  # fmt: skip
    form.add_argument(
        "--brackets", action="store_true", help='instead: write them as FLOAT["N", 3] again'
    )
    parser.add_argument("--diff", action="store_true", help="show what would change")
    parser.add_argument("--write", action="store_true", help="change the files")
    add_json(parser)


def _run(given: Namespace) -> int:
    from onnxwright.cli.migrate.migration import migrate, to_annotated, to_brackets

    rewrite = to_annotated if given.annotated else to_brackets if given.brackets else migrate
    rewritten: dict[str, tuple[str, Migrated]] = {}
    encodings: dict[str, str] = {}
    for name in given.files:
        try:
            data = Path(name).read_bytes()
            encodings[name], _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            text = data.decode(encodings[name])
            rewritten[name] = (text, rewrite(text))
        except OSError as error:
            raise CliError(f"{name} cannot be read: {error.strerror}") from error
        except (SyntaxError, UnicodeDecodeError) as error:
            raise CliError(f"{name} is not a Python file: {error}") from error
    changed = [name for name, (text, made) in rewritten.items() if made.text != text]
    if given.write:
        for name in changed:
            write(name, rewritten[name][1].text.encode(encodings[name]))
    if given.json:
        print_json(
            [
                {
                    "file": name,
                    "changed": name in changed,
                    "notes": [{"line": n.line, "text": n.text} for n in made.notes],
                }
                for name, (_, made) in rewritten.items()
            ]
        )
        return OK
    for name, (text, made) in rewritten.items():
        if given.diff and name in changed:
            before, after = (t.splitlines(keepends=True) for t in (text, made.text))
            sys.stdout.writelines(difflib.unified_diff(before, after, name, f"{name} (migrated)"))
        for note in made.notes:
            print(f"{name}:{note.line}: {note.text}")
    word = "changed" if given.write else "to change"
    print(f"{len(changed)} of {len(rewritten)} files {word}")
    return DIFFERS if changed and not given.write and not given.diff else OK


__all__ = ["add"]
