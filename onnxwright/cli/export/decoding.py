"""`decoder`: a language model of transformers as a folder that runtimes generate text with."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from importlib.util import find_spec

from onnxwright.cli.shared.console import OK, CliError, print_json
from onnxwright.cli.shared.grammar import JSON, argument, choice, command, flag
from onnxwright.diagnostics.text import as_utf8


@command(
    "decoder",
    "a language model of transformers as a folder for ONNX Runtime",
    [
        "onnxwright decoder ./llama -o ./llama-onnx",
        "onnxwright decoder ./llama -o ./llama-int4 --weights int4 --target onnxruntime",
        "onnxwright decoder ./whisper -o ./whisper-onnx",
    ],
    argument("folder", "FOLDER", "config.json and weights, as save_pretrained writes them"),
    argument("-o --output", "OUT", "the folder to write", required=True),
    choice("--weights", ("float32", "float16", "int8", "int4"), default="float32"),
    choice(
        "--target", ("any", "onnxruntime"), "onnxruntime: its own operators are used", default="any"
    ),
    flag("--no-verify", "generate no tokens to compare with transformers"),
    JSON,
)
def _decoder(args: Namespace) -> int:
    lacking = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if lacking:
        names = " ".join(lacking)
        raise CliError(f"`decoder` needs {names}, which is not installed: pip install {names}")
    from onnxwright.exporter import export_decoder

    report = export_decoder(
        as_utf8(args.folder), as_utf8(args.output), weights=args.weights,
        target=args.target, verify=not args.no_verify,
    )  # fmt: skip
    if args.json:
        print_json({**dataclasses.asdict(report), "folder": str(report.folder)})
    else:
        print(report)
    return OK
