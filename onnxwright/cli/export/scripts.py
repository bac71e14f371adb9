"""`onnxwright to-script MODEL`: a model back to Python."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxwright.cli.shared.console import OK, CliError, print_json
from onnxwright.cli.shared.files import LIMIT, check_weights, is_too_large, load, write
from onnxwright.cli.shared.grammar import add_json, command
from onnxwright.ir.text import clean

if TYPE_CHECKING:
    from onnxwright.cli.shared.grammar import Commands


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "to-script",
        "write a model as Python that compiles to it again",
        [
            "onnxwright to-script model.onnx",
            "onnxwright to-script model.onnx -o model.py --weights npz --explain",
        ],
        _run,
    )
    parser.add_argument("model", metavar="MODEL", help="a file, FILE.py:fn, or - for a pipe")
    parser.add_argument("-o", "--output", metavar="FILE.py", default="-", help="- (the default)")
    parser.add_argument("--name", help="the name of the function")
    parser.add_argument(
        "--no-operators", action="store_true", help="op.Add(x, y) where it could be x + y"
    )
    parser.add_argument(
        "--inline-constants", metavar="N", default="16",
        help="arrays of up to N elements as numbers; all or none",
    )  # fmt: skip
    parser.add_argument(
        "--weights", choices=("inline", "npz", "external"), default="inline",
        help="where larger arrays go",
    )  # fmt: skip
    parser.add_argument("--weights-file", metavar="FILE.npz", help="for --weights npz")
    parser.add_argument(
        "--explain", action="store_true", help="say on standard error what is written less well"
    )
    add_json(parser)


def _run(given: Namespace) -> int:
    from onnxwright.decompiler import to_script

    loaded = load(given.model, function=True)
    if given.weights == "external" and loaded.path is None:
        raise CliError(f"--weights external needs a model in a file, not {loaded.label}")
    if given.weights != "external":
        check_weights(loaded)
    reasons: list[str] = []
    weights_file = given.weights_file
    if given.weights == "npz" and weights_file is None:
        if given.output == "-":
            raise CliError("--weights npz writes a file: name it by --weights-file, or use -o")
        weights_file = str(Path(given.output).with_suffix(".npz"))
    if given.weights == "inline" and (size := _bytes_of(loaded.proto)) > LIMIT:
        raise CliError(
            f"the weights of {loaded.label} are {size / 1e9:.1f} GB, too much for a text; "
            "use --weights npz or --weights external"
        )
    try:
        text = to_script(
            loaded.source,
            name=given.name,
            operators=not given.no_operators,
            inline_constants=_limit(given.inline_constants),
            weights=given.weights,
            weights_file=weights_file,
            output=given.output if given.output != "-" or given.weights == "external" else None,
            explain=reasons,
        )
    except Exception as error:
        if not is_too_large(error):
            raise
        raise CliError(
            f"{loaded.label} is over 2 GB with its weights, and its operators cannot be checked "
            "one by one; use --no-operators"
        ) from error
    if given.json:
        print_json({"script": text, "reasons": reasons})
    else:
        write(given.output, text)
    if given.explain:
        for reason in reasons:
            print(clean(reason), file=sys.stderr)
    return OK


def _bytes_of(proto: Any) -> int:
    """How many bytes the initializers hold, those in other files included."""
    from onnxwright.viz.view import weight_of

    return sum(weight_of(tensor).nbytes for tensor in proto.graph.initializer)


def _limit(text: str) -> int | bool:
    if text in ("all", "none"):
        return text == "all"
    if not text.isdigit():
        raise CliError(f"--inline-constants takes a number, all or none, not {text}")
    return int(text)


__all__ = ["add"]
