"""`onnxwright to-script MODEL`: a model back to Python."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from onnxwright.cli.console import OK, Trouble, print_json
from onnxwright.cli.files import load, write
from onnxwright.cli.grammar import add_json, command
from onnxwright.viz.text import clean


def add(commands: Any) -> None:
    """Add the command to the parser."""
    made = command(
        commands,
        "to-script",
        "write a model as Python that compiles to it again",
        [
            "onnxwright to-script model.onnx",
            "onnxwright to-script model.onnx -o model.py --weights npz --explain",
        ],
        _run,
    )
    made.add_argument("model", metavar="MODEL", help="a file, FILE.py:fn, or - for a pipe")
    made.add_argument("-o", "--output", metavar="FILE.py", default="-", help="- (the default)")
    made.add_argument("--name", help="the name of the function")
    made.add_argument(
        "--no-operators", action="store_true", help="op.Add(x, y) where it could be x + y"
    )
    made.add_argument(
        "--inline-constants", metavar="N", default="16",
        help="arrays of up to N elements as numbers; all or none",
    )  # fmt: skip
    made.add_argument(
        "--weights", choices=("inline", "npz", "external"), default="inline",
        help="where larger arrays go",
    )  # fmt: skip
    made.add_argument("--weights-file", metavar="FILE.npz", help="for --weights npz")
    made.add_argument(
        "--explain", action="store_true", help="say on standard error what is written less well"
    )
    add_json(made)


def _run(given: Any) -> int:
    from onnxwright.decompiler import to_script

    loaded = load(given.model, function=True)
    reasons: list[str] = []
    weights_file = given.weights_file
    if given.weights == "npz" and weights_file is None:
        if given.output == "-":
            raise Trouble("--weights npz writes a file: name it by --weights-file, or use -o")
        weights_file = str(Path(given.output).with_suffix(".npz"))
    text = to_script(
        loaded.source,
        name=given.name,
        operators=not given.no_operators,
        inline_constants=_limit(given.inline_constants),
        weights=given.weights,
        weights_file=weights_file,
        explain=reasons,
    )
    if given.json:
        print_json({"script": text, "reasons": reasons})
    else:
        write(given.output, text)
    if given.explain:
        for reason in reasons:
            print(clean(reason), file=sys.stderr)
    return OK


def _limit(text: str) -> int | bool:
    if text in ("all", "none"):
        return text == "all"
    if not text.isdigit():
        raise Trouble(f"--inline-constants takes a number, all or none, not {text}")
    return int(text)


__all__ = ["add"]
