"""`onnxwright to-script MODEL`: a model back to Python."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from onnxwright.cli.shared.console import OK, CliError, print_json
from onnxwright.cli.shared.files import LIMIT, check_weights, is_too_large, load, write
from onnxwright.cli.shared.grammar import JSON, MODEL, argument, choice, command, flag
from onnxwright.ir.text import clean


@command(
    "to-script",
    "write a model as Python that compiles to it again",
    [
        "onnxwright to-script model.onnx",
        "onnxwright to-script model.onnx -o model.py --weights npz --explain",
    ],
    MODEL,
    argument("-o --output", "FILE.py", "- (the default)", default="-"),
    argument("--name", None, "the name of the function"),
    flag("--no-operators", "op.Add(x, y) where it could be x + y"),
    argument(
        "--inline-constants",
        "N",
        "arrays of up to N elements as numbers; all or none",
        default="16",
    ),
    choice("--weights", ("inline", "npz", "external"), "where larger arrays go", default="inline"),
    argument("--weights-file", "FILE.npz", "for --weights npz"),
    flag("--explain", "say on standard error what is written less well"),
    JSON,
)
def _run(args: Namespace) -> int:
    from onnxwright.decompiler import to_script

    loaded = load(args.model, function=True)
    if args.weights == "external" and loaded.path is None:
        raise CliError(f"--weights external needs a model in a file, not {loaded.label}")
    if args.weights != "external":
        check_weights(loaded)
    reasons: list[str] = []
    weights_file = args.weights_file
    if args.weights == "npz" and weights_file is None:
        if args.output == "-":
            raise CliError("--weights npz writes a file: name it by --weights-file, or use -o")
        weights_file = str(Path(args.output).with_suffix(".npz"))
    if args.weights == "inline" and (size := _bytes_of(loaded.proto)) > LIMIT:
        raise CliError(
            f"the weights of {loaded.label} are {size / 1e9:.1f} GB, too much for a text; "
            "use --weights npz or --weights external"
        )
    try:
        text = to_script(
            loaded.source,
            name=args.name,
            operators=not args.no_operators,
            inline_constants=_limit(args.inline_constants),
            weights=args.weights,
            weights_file=weights_file,
            output=args.output if args.output != "-" or args.weights == "external" else None,
            explain=reasons,
        )
    except Exception as error:
        if not is_too_large(error):
            raise
        raise CliError(
            f"{loaded.label} is over 2 GB with its weights, and its operators cannot be checked "
            "one by one; use --no-operators"
        ) from error
    if args.json:
        print_json({"script": text, "reasons": reasons})
    else:
        write(args.output, text)
    if args.explain:
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
