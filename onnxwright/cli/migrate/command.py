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
from onnxwright.cli.shared.grammar import JSON, argument, command, flag

if TYPE_CHECKING:
    from onnxwright.cli.migrate.migration import Migrated


@command(
    "migrate",
    "rewrite the imports of files written for onnxscript or torch.onnx",
    [
        "onnxwright migrate model.py --diff",
        "onnxwright migrate src/*.py --write",
        "onnxwright migrate src/*.py --annotated --write",
    ],
    argument("files", "FILE", "Python files", nargs="+"),
    flag(
        "--annotated",
        'instead: write FLOAT["N", 3] in annotations as Annotated[FLOAT, "N", 3], which '
        "every type checker accepts",
        group="form",
    ),
    flag("--brackets", 'instead: write them as FLOAT["N", 3] again', group="form"),
    flag("--diff", "show what would change"),
    flag("--write", "change the files"),
    JSON,
)
def _run(args: Namespace) -> int:
    from onnxwright.cli.migrate.migration import migrate, to_annotated, to_brackets

    rewrite = to_annotated if args.annotated else to_brackets if args.brackets else migrate
    rewritten: dict[str, tuple[str, Migrated]] = {}
    encodings: dict[str, str] = {}
    for name in args.files:
        try:
            data = Path(name).read_bytes()
            encodings[name], _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            text = data.decode(encodings[name])
            rewritten[name] = (text, rewrite(text))
        except OSError as error:
            raise CliError(f"{name} cannot be read: {error.strerror}") from error
        except (SyntaxError, UnicodeDecodeError) as error:
            raise CliError(f"{name} is not a Python file: {error}") from error
    changed = [name for name, (text, migrated) in rewritten.items() if migrated.text != text]
    if args.write:
        for name in changed:
            write(name, rewritten[name][1].text.encode(encodings[name]))
    if args.json:
        print_json(
            [
                {
                    "file": name,
                    "changed": name in changed,
                    "notes": [{"line": n.line, "text": n.text} for n in migrated.notes],
                }
                for name, (_, migrated) in rewritten.items()
            ]
        )
        return OK
    for name, (text, migrated) in rewritten.items():
        if args.diff and name in changed:
            before, after = (t.splitlines(keepends=True) for t in (text, migrated.text))
            sys.stdout.writelines(difflib.unified_diff(before, after, name, f"{name} (migrated)"))
        for note in migrated.notes:
            print(f"{name}:{note.line}: {note.text}")
    word = "changed" if args.write else "to change"
    print(f"{len(changed)} of {len(rewritten)} files {word}")
    return DIFFERS if changed and not args.write and not args.diff else OK
