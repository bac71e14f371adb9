"""`fold`, `inline`, `remove-unused`, `replace-functions`: parts of the optimizer by themselves."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxwright.cli.change.changing import (
    add_model,
    add_output,
    add_verify,
    model_of,
    verified,
    write_result,
)
from onnxwright.cli.shared.console import CliError
from onnxwright.cli.shared.files import check_file
from onnxwright.cli.shared.grammar import command
from onnxwright.cli.shared.programs import find_program, split_target
from onnxwright.diagnostics.text import as_utf8

if TYPE_CHECKING:
    from onnxwright.cli.shared.grammar import Commands


def add(commands: Commands) -> None:
    """Add the commands to the parser."""
    parser = command(
        commands,
        "fold",
        "compute what depends on no input: constants, known shapes, weights",
        [
            "onnxwright fold model.onnx -o folded.onnx",
            "onnxwright fold model.onnx -o folded.onnx --exact --keep table --verify",
        ],
        _fold,
    )
    add_model(parser)
    parser.add_argument("--exact", action="store_true",
                      help="only what every machine computes to the same bits")  # fmt: skip
    parser.add_argument("--keep", action="append", metavar="NAME", default=[],
                      help="a weight that stays what it is")  # fmt: skip
    _finish(parser)
    parser = command(
        commands,
        "inline",
        "put the bodies of model-local functions in the places of their calls",
        [
            "onnxwright inline model.onnx -o flat.onnx",
            "onnxwright inline model.onnx --function pkg.Gelu -o flat.onnx",
        ],
        _inline,
    )
    add_model(parser)
    parser.add_argument("--function", action="append", metavar="NAME",
                      help="a name or DOMAIN.NAME; all functions without it")  # fmt: skip
    _finish(parser)
    parser = command(
        commands,
        "remove-unused",
        "remove nodes, initializers, functions and opset imports that nothing needs",
        ["onnxwright remove-unused model.onnx -o small.onnx"],
        _remove_unused,
    )
    add_model(parser)
    _finish(parser)
    parser = command(
        commands,
        "replace-functions",
        "give functions and custom operators of a model another definition",
        ["onnxwright replace-functions model.onnx --function pkg.Gelu=my.py:gelu -o new.onnx"],
        _replace,
    )
    add_model(parser)
    parser.add_argument("--function", action="append", metavar="NAME=FILE.py:fn", required=True,
                      help="a name or DOMAIN.NAME, and a script or FunctionProto")  # fmt: skip
    add_output(parser)


def _finish(made: Any) -> None:
    add_verify(made)
    add_output(made)


def _write(given: Namespace, source: Any, made: Any, *, exact: bool = False) -> int:
    checked = verified(given, source, made, exact=exact)
    write_result(given, made, checked.data)
    if given.output != "-" and not given.json:
        checked.show()
    return checked.code


def _fold(given: Namespace) -> int:
    from onnxwright.optimizer.parts import fold_constants

    source = model_of(given.model)
    keep = [as_utf8(name) for name in given.keep]
    return _write(
        given, source, fold_constants(source, exact=given.exact, keep=keep), exact=given.exact
    )


def _inline(given: Namespace) -> int:
    from onnxwright.optimizer.parts import inline

    source = model_of(given.model)
    names = None if given.function is None else [as_utf8(name) for name in given.function]
    return _write(given, source, inline(source, names))


def _remove_unused(given: Namespace) -> int:
    from onnxwright.optimizer.parts import remove_unused

    source = model_of(given.model)
    return _write(given, source, remove_unused(source), exact=True)


def _replace(given: Namespace) -> int:
    from onnxwright.optimizer.parts import replace_functions

    replacements: dict[str, Any] = {}
    for text in given.function:
        name, sign, place = as_utf8(text).partition("=")
        target = split_target(place) if sign and name else None
        if target is None:
            raise CliError(f"--function takes NAME=FILE.py:fn, not {text}")
        check_file(Path(target[0]))
        replacements[name] = find_program(*target)
    replaced = replace_functions(model_of(given.model), replacements)
    write_result(given, replaced)
    return 0


__all__ = ["add"]
