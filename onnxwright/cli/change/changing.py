"""Commands that change a model as a whole: `convert`, `extract`, `compose`, `rename` and more."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxwright.cli.shared.console import DIFFERS, OK, CliError, print_json
from onnxwright.cli.shared.files import check_file, check_folder, load, write_model
from onnxwright.cli.shared.grammar import JSON, MODEL, argument, command, flag, numbers, pairs
from onnxwright.diagnostics.text import as_utf8, clean
from onnxwright.errors import ModelToolError

if TYPE_CHECKING:
    from onnxwright.verification.verifying import Verification


OUTPUT = argument("-o --output", "FILE", "- for a pipe", required=True)
VERIFY = flag("--verify", "run both models on random inputs, and compare")
_RENAMED = ("inputs", "outputs", "values", "dims")


def write_verified(
    args: Namespace,
    source: Any,
    model: Any,
    *,
    exact: bool = False,
    data: Mapping[str, Any] | None = None,
    reports: Sequence[object] = (),
) -> int:
    """Write the result, compared with the model where `--verify` asks for it.

    Args:
        args: the arguments of the command.
        source: the model, or its path.
        model: the result; its inputs may have other names.
        data: what else the JSON says.
        reports: what is printed beside, where neither JSON nor the model goes to the terminal.

    Returns:
        The exit status.

    Raises:
        CliError: the first model cannot be run on random inputs.
    """
    comparison = _compared(args, source, model, exact) if getattr(args, "verify", False) else None
    write_result(args, model, {**(data or {}), **_as_data(comparison)})
    difference = None if comparison is None else comparison.difference
    if args.output != "-" and not args.json:
        for report in reports:
            print(report)
        if comparison is not None:
            if comparison.outputs:
                print(comparison.table())
            print(f"differs: {clean(difference)}" if difference else "equal on random inputs")
    return OK if difference is None else DIFFERS


def _compared(args: Namespace, source: Any, model: Any, exact: bool) -> Verification:
    """Both models run on the same random inputs."""
    from onnxwright.verification.verifying import verify

    try:
        return verify(source, model, exact=exact)
    except ModelToolError as error:
        reason = getattr(error.diagnostics[0], "reason", error)
        raise CliError(f"{args.model} cannot be verified: {reason}") from error


def _as_data(comparison: Verification | None) -> dict[str, Any]:
    """A comparison as JSON; nothing where it was not asked for."""
    if comparison is None:
        return {}
    return {
        "verified": comparison.difference is None,
        "difference": comparison.difference,
        "runs": list(comparison.runs),
        "outputs": {
            o.name: {"largest": o.largest, "relative": o.relative, "differs": o.words}
            for o in comparison.outputs
        },
    }


@command(
    "convert",
    "convert a model to another opset version, newer or older",
    [
        "onnxwright convert model.onnx --opset 21 -o new.onnx",
        "onnxwright convert model.onnx --opset 13 --ir-version 7 -o old.onnx",
        "onnxwright convert model.onnx --opset 13 -o old.onnx --verify",
    ],
    MODEL,
    argument("--opset", "N", "the version of the default domain", type=int),
    argument("--domain", "DOMAIN=N", "the version of another domain", action="append"),
    argument("--ir-version", "N", type=int),
    VERIFY,
    OUTPUT,
    JSON,
)
def _convert(args: Namespace) -> int:
    from onnxwright.versions.api import convert_version

    domains = numbers(args.domain, "--domain takes DOMAIN=N, such as ai.onnx.ml=3")
    if args.opset is None and not domains:
        raise CliError("say what to convert to with --opset or --domain")
    source = model_of(args.model)
    converted = convert_version(source, args.opset, domains=domains, ir_version=args.ir_version)
    return write_verified(args, source, converted)


@command(
    "extract",
    "write the part of a model between named values",
    ["onnxwright extract model.onnx --inputs hidden --outputs logits,scores -o part.onnx"],
    MODEL,
    argument("--inputs", "NAMES", "values, with commas", required=True),
    argument("--outputs", "NAMES", "values, with commas", required=True),
    OUTPUT,
    JSON,
)
def _extract(args: Namespace) -> int:
    from onnxwright.model_tools import extract

    model = model_of(args.model)
    write_result(args, extract(model, _names(args.inputs), _names(args.outputs)))
    return OK


@command(
    "compose",
    "connect the outputs of one model to the inputs of another",
    [
        "onnxwright compose body.onnx head.onnx -o whole.onnx",
        "onnxwright compose a.onnx b.onnx --connect y=x --prefix b_ -o ab.onnx",
    ],
    MODEL,
    argument("second", "MODEL2", "a file or FILE.py:fn"),
    argument("--connect", "OUTPUT=INPUT", "without it, by equal names", action="append"),
    argument("--prefix", "TEXT", "before the names of the second model"),
    OUTPUT,
    JSON,
    options={"io_map": "--connect", "second": "MODEL2", "prefix": "--prefix"},
)
def _compose(args: Namespace) -> int:
    from onnxwright.model_tools import compose

    connected = pairs(args.connect, "--connect takes NAME=VALUE") or None
    prefix = args.prefix and as_utf8(args.prefix)
    composed = compose(model_of(args.model), model_of(args.second), connected, prefix=prefix)
    write_result(args, composed)
    return OK


@command(
    "set-shapes",
    "make dimensions of inputs fixed or dynamic, and infer all other shapes anew",
    [
        "onnxwright set-shapes model.onnx --shape x=batch,3,? -o dynamic.onnx",
        "onnxwright set-shapes model.onnx --dim batch=1 -o fixed.onnx",
    ],
    MODEL,
    argument("--shape", "INPUT=DIMS", "numbers, names, ? to keep one", action="append"),
    argument("--dim", "NAME=DIM", "a number or a new name", action="append"),
    OUTPUT,
    JSON,
)
def _set_shapes(args: Namespace) -> int:
    from onnxwright.model_tools import set_shapes

    if not args.shape and not args.dim:
        raise CliError("say what changes with --shape or --dim")
    shapes = {
        name: [None if d == "?" else _number(d) for d in dims.split(",") if d]
        for name, dims in pairs(args.shape, "--shape takes NAME=VALUE")
    }
    dims = {name: _number(d) for name, d in pairs(args.dim, "--dim takes NAME=VALUE")}
    write_result(args, set_shapes(model_of(args.model), shapes, dims=dims))
    return OK


@command(
    "rename",
    "rename inputs, outputs, other values and dimensions",
    ["onnxwright rename model.onnx --inputs x=ids --dims N=batch -o new.onnx"],
    MODEL,
    *(argument(f"--{kind}", "OLD=NEW,...") for kind in _RENAMED),
    VERIFY,
    OUTPUT,
    JSON,
)
def _rename(args: Namespace) -> int:
    from onnxwright.model_tools import rename

    names: dict[str, Any] = {}
    for kind in _RENAMED:
        texts = [text for text in _names(getattr(args, kind) or "") if text]
        names[kind] = dict(pairs(texts, f"--{kind} takes NAME=VALUE"))
    if not any(names.values()):
        raise CliError("say what to rename with --inputs, --outputs, --values or --dims")
    source = model_of(args.model)
    return write_verified(args, source, rename(source, **names))


@command(
    "remove-metadata",
    "remove doc strings and metadata, such as the stack traces that exporters write",
    [
        "onnxwright remove-metadata model.onnx -o bare.onnx",
        "onnxwright remove-metadata model.onnx --keep license --keep 'onnxwright.*' -o bare.onnx",
    ],
    MODEL,
    argument("--keep", "KEY", "metadata that stay: a key or a pattern", action="append"),
    VERIFY,
    OUTPUT,
    JSON,
    options={"keep": "--keep"},
)
def _remove_metadata(args: Namespace) -> int:
    from onnxwright.model_tools import remove_metadata

    source = model_of(args.model)
    keep = [as_utf8(key) for key in args.keep or ()]
    return write_verified(args, source, remove_metadata(source, keep=keep), exact=True)


def _names(text: str) -> list[str]:
    return as_utf8(text).split(",")


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def model_of(argument: str) -> Any:
    """A model: a file as its path, so that weights are not read; the rest as a ModelProto."""
    if argument.endswith((".onnx", ".textproto", ".onnxtxt", ".json")):
        check_file(Path(argument))
        if argument.endswith(".onnx"):
            return argument
    return load(argument).proto


def write_result(args: Namespace, changed: Any, more: Mapping[str, Any] | None = None) -> None:
    """Write the result and say what it is, with `more` in the JSON; no file, nothing is written."""
    import onnx_ir as ir

    from onnxwright.ir.saving import as_proto, save

    if args.output is None:
        if args.json:
            print_json({"path": None, **(more or {})})
        return
    if args.output.endswith(".onnx"):
        check_folder(Path(args.output))
        model = changed if isinstance(changed, ir.Model) else ir.from_proto(changed)
        save(model, args.output)
    elif isinstance(changed, ir.Model):
        folder = None if args.output == "-" else Path(args.output).parent
        write_model(args.output, as_proto(changed, folder))
    else:
        write_model(args.output, changed)
    if args.output == "-":
        return
    graph = changed.graph
    nodes = len(list(graph)) if isinstance(changed, ir.Model) else len(graph.node)
    if args.json:
        print_json({"path": args.output, "nodes": nodes, **(more or {})})
    else:
        size = Path(args.output).stat().st_size
        print(f"{args.output}: {nodes} {'node' if nodes == 1 else 'nodes'}, {size:,} bytes")
