"""`compile`, `decoder`: a script as a model file, a language model as a folder to generate with."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from onnxwright.cli.shared.console import OK, CliError, print_json
from onnxwright.cli.shared.files import is_too_large, write_model
from onnxwright.cli.shared.grammar import JSON, argument, choice, command, flag, pairs
from onnxwright.cli.shared.programs import MAKER, find_program, split_target
from onnxwright.diagnostics.text import as_utf8
from onnxwright.errors import OnnxwrightError

_ATTRIBUTE = "--attribute takes NAME=VALUE, such as axis=1"


@command(
    "compile",
    "compile a script to a model",
    [
        "onnxwright compile model.py:fn -o model.onnx",
        'onnxwright compile model.py:fn --type "x=FLOAT[N, 3]" --attribute axis=1',
        "onnxwright compile model.py:fn -o - | onnxwright run - --random",
        "onnxwright to-script model.onnx -o m.py && onnxwright compile m.py -o again.onnx",
    ],
    argument("script", "FILE.py:fn", "the name may be left out if only one, or after to-script"),
    argument("-o --output", "FILE", "fn.onnx if not given; - for a pipe"),
    argument("--type", "NAME=TYPE", "the type of an input, FLOAT[N, 3]", action="append"),
    argument("--attribute", "NAME=VALUE", "the value of an attribute", action="append"),
    argument("--opset", "N", "the ai.onnx version of the model", type=int),
    argument("--ir-version", "N", type=int),
    choice("--functions", ("all", "none"), "keep called scripts as functions, or inline"),
    flag("--check", "have onnx.checker look at the model first"),
    JSON,
)
def _run(args: Namespace) -> int:
    target = split_target(args.script)
    if target is None:
        raise CliError(f"a script is named as FILE.py:fn, not {args.script}")
    if args.output == "-" and sys.stdout.isatty():
        raise CliError("the result is binary; redirect it, or name a file with -o")
    model, name = _compiled(args, *target)
    if args.check:
        import onnx

        try:
            onnx.checker.check_model(model, full_check=True)
        except Exception as error:
            words = str(error).strip()
            raise CliError(f"onnx.checker refuses the model: {words}", status=1) from error
    output = args.output or f"{name}.onnx"
    write_model(output, model)
    if output != "-":
        nodes = len(model.graph.node)
        if args.json:
            functions = [f.name for f in model.functions]
            print_json({"path": output, "nodes": nodes, "functions": functions})
        else:
            size = Path(output).stat().st_size
            print(f"{output}: {nodes} {'node' if nodes == 1 else 'nodes'}, {size:,} bytes")
    return OK


def _compiled(args: Namespace, path: Path, name: str) -> tuple[Any, str]:
    """The model, and what it is called."""
    program = find_program(path, name)
    if not hasattr(program, "to_model_proto"):
        changes = (args.type, args.attribute, args.opset, args.ir_version, args.functions)
        if any(change is not None for change in changes):
            raise CliError(
                f"`{MAKER}` of {path} gives the model as it is; name a script to change it"
            )
        return program, path.stem
    try:
        model = program.to_model_proto(
            input_types=_types(args.type),
            attributes={name: _value(text) for name, text in pairs(args.attribute, _ATTRIBUTE)},
            opset_version=args.opset,
            ir_version=args.ir_version,
            functions=args.functions,
        )
    except OnnxwrightError:
        raise
    except Exception as error:
        if not is_too_large(error):
            raise
        message = f"{program.name} holds over 2 GB of constants; make them inputs, or `External`"
        raise CliError(message, status=1) from error
    return model, program.name


def _types(texts: list[str] | None) -> dict[str, Any] | None:
    if not texts:
        return None
    from onnxwright.ir.adapters import type_proto

    return {name: type_proto(kind) for name, kind in map(read_type, texts)}


def read_type(text: str) -> tuple[str, Any]:
    """`x=FLOAT[N, 3]` as a name and an annotation.

    Args:
        text: as the user wrote it.

    Raises:
        CliError: it is not such a pair.

    Example:
        >>> name, kind = read_type("x=FLOAT[N, 3]")
        >>> name, str(kind)
        ('x', 'FLOAT[N, 3]')
    """
    from onnxwright.types.dtypes import DType
    from onnxwright.types.kinds import TensorType

    match = re.fullmatch(r"([^=]+)=\s*(\w+)\s*(?:\[(.*)\])?", as_utf8(text).strip())
    if match is None or match[2] not in DType.__members__:
        raise CliError(f"--type takes NAME=TYPE, such as x=FLOAT[N, 3], not {text}")
    shape: tuple[int | str | None, ...] | None = None
    if match[3] is not None and match[3].strip() != "...":
        words = [w.strip().strip("\"'") for w in match[3].strip().strip("()").split(",")]
        shape = tuple(
            int(w) if w.isdigit() else None if w in ("None", "?") else w for w in words if w
        )
    return match[1], TensorType(DType[match[2]], shape)


def _value(text: str) -> Any:
    """A value written as JSON; any other text is a text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


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
