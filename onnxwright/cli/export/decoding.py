"""`decoder`: a language model of transformers as a folder that runtimes generate text with."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from onnxwright.cli.shared.console import OK, CliError, print_json
from onnxwright.cli.shared.grammar import add_json, command
from onnxwright.diagnostics.text import as_utf8

if TYPE_CHECKING:
    from onnxwright.cli.shared.grammar import Commands


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "decoder",
        "a language model of transformers as a folder for ONNX Runtime",
        [
            "onnxwright decoder ./llama -o ./llama-onnx",
            "onnxwright decoder ./llama -o ./llama-int4 --weights int4 --target onnxruntime",
            "onnxwright decoder ./whisper -o ./whisper-onnx",
        ],
        _decoder,
    )
    parser.add_argument("folder", metavar="FOLDER",
                      help="config.json and weights, as save_pretrained writes them")  # fmt: skip
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="the folder to write")
    parser.add_argument("--weights", choices=("float32", "float16", "int8", "int4"),
                      default="float32")  # fmt: skip
    parser.add_argument("--target", choices=("any", "onnxruntime"), default="any",
                      help="onnxruntime: its own operators are used")  # fmt: skip
    parser.add_argument("--no-verify", action="store_true",
                      help="generate no tokens to compare with transformers")  # fmt: skip
    add_json(parser)


def _decoder(given: Namespace) -> int:
    lacking = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if lacking:
        names = " ".join(lacking)
        raise CliError(f"`decoder` needs {names}, which is not installed: pip install {names}")
    from onnxwright.exporter import export_decoder

    report = export_decoder(
        as_utf8(given.folder), as_utf8(given.output), weights=given.weights,
        target=given.target, verify=not given.no_verify,
    )  # fmt: skip
    if given.json:
        print_json({**dataclasses.asdict(report), "folder": str(report.folder)})
    else:
        print(report)
    return OK


__all__ = ["add"]
