"""`fold`, `inline`, `remove-unused`, `replace-functions`: parts of the optimizer by themselves."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from onnxwright.cli.change.changing import OUTPUT, VERIFY, model_of, write_result, write_verified
from onnxwright.cli.shared.console import OK, CliError
from onnxwright.cli.shared.files import check_file
from onnxwright.cli.shared.grammar import JSON, MODEL, argument, command, flag, pairs
from onnxwright.cli.shared.programs import find_program, split_target
from onnxwright.diagnostics.text import as_utf8


@command(
    "fold",
    "compute what depends on no input: constants, known shapes, weights",
    [
        "onnxwright fold model.onnx -o folded.onnx",
        "onnxwright fold model.onnx -o folded.onnx --exact --keep table --verify",
    ],
    MODEL,
    flag("--exact", "only what every machine computes to the same bits"),
    argument("--keep", "NAME", "a weight that stays what it is", action="append", default=[]),
    VERIFY,
    OUTPUT,
    JSON,
)
def _fold(args: Namespace) -> int:
    from onnxwright.optimizer.parts import fold_constants

    source = model_of(args.model)
    keep = [as_utf8(name) for name in args.keep]
    return write_verified(
        args, source, fold_constants(source, exact=args.exact, keep=keep), exact=args.exact
    )


@command(
    "inline",
    "put the bodies of model-local functions in the places of their calls",
    [
        "onnxwright inline model.onnx -o flat.onnx",
        "onnxwright inline model.onnx --function pkg.Gelu -o flat.onnx",
    ],
    MODEL,
    argument(
        "--function", "NAME", "a name or DOMAIN.NAME; all functions without it", action="append"
    ),
    VERIFY,
    OUTPUT,
    JSON,
)
def _inline(args: Namespace) -> int:
    from onnxwright.optimizer.parts import inline

    source = model_of(args.model)
    names = None if args.function is None else [as_utf8(name) for name in args.function]
    return write_verified(args, source, inline(source, names))


@command(
    "remove-unused",
    "remove nodes, initializers, functions and opset imports that nothing needs",
    ["onnxwright remove-unused model.onnx -o small.onnx"],
    MODEL,
    VERIFY,
    OUTPUT,
    JSON,
)
def _remove_unused(args: Namespace) -> int:
    from onnxwright.optimizer.parts import remove_unused

    source = model_of(args.model)
    return write_verified(args, source, remove_unused(source), exact=True)


@command(
    "replace-functions",
    "give functions and custom operators of a model another definition",
    ["onnxwright replace-functions model.onnx --function pkg.Gelu=my.py:gelu -o new.onnx"],
    MODEL,
    argument(
        "--function",
        "NAME=FILE.py:fn",
        "a name or DOMAIN.NAME, and a script or FunctionProto",
        action="append",
        required=True,
    ),
    OUTPUT,
    JSON,
)
def _replace(args: Namespace) -> int:
    from onnxwright.optimizer.parts import replace_functions

    replacements: dict[str, Any] = {}
    takes = "--function takes NAME=FILE.py:fn"
    for name, place in pairs(args.function, takes):
        target = split_target(place)
        if target is None:
            raise CliError(f"{takes}, not {name}={place}")
        check_file(Path(target[0]))
        replacements[name] = find_program(*target)
    replaced = replace_functions(model_of(args.model), replacements)
    write_result(args, replaced)
    return OK
