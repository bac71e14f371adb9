"""`convert`, `extract`, `compose`, `set-shapes`, `rename`: a model changed as a whole."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxwright.cli.shared.console import DIFFERS, OK, CliError, print_json
from onnxwright.cli.shared.files import check_file, check_folder, load, write_model
from onnxwright.cli.shared.grammar import add_json, command
from onnxwright.diagnostics.text import as_utf8, clean

if TYPE_CHECKING:
    from onnxwright.cli.shared.grammar import Commands
    from onnxwright.verification.verifying import Verification


def add(commands: Commands) -> None:
    """Add the commands to the parser."""
    made = command(
        commands,
        "convert",
        "convert a model to another opset version, newer or older",
        [
            "onnxwright convert model.onnx --opset 21 -o new.onnx",
            "onnxwright convert model.onnx --opset 13 --ir-version 7 -o old.onnx",
            "onnxwright convert model.onnx --opset 13 -o old.onnx --verify",
        ],
        _convert,
    )
    add_model(made)
    made.add_argument("--opset", type=int, metavar="N", help="the version of the default domain")
    made.add_argument(
        "--domain", action="append", metavar="DOMAIN=N", help="the version of another domain"
    )
    made.add_argument("--ir-version", type=int, metavar="N")
    add_verify(made)
    add_output(made)
    made = command(
        commands,
        "extract",
        "write the part of a model between named values",
        ["onnxwright extract model.onnx --inputs hidden --outputs logits,scores -o part.onnx"],
        _extract,
    )
    add_model(made)
    made.add_argument("--inputs", required=True, metavar="NAMES", help="values, with commas")
    made.add_argument("--outputs", required=True, metavar="NAMES", help="values, with commas")
    add_output(made)
    made = command(
        commands,
        "compose",
        "connect the outputs of one model to the inputs of another",
        [
            "onnxwright compose body.onnx head.onnx -o whole.onnx",
            "onnxwright compose a.onnx b.onnx --connect y=x --prefix b_ -o ab.onnx",
        ],
        _compose,
    )
    add_model(made)
    made.add_argument("second", metavar="MODEL2", help="a file or FILE.py:fn")
    made.add_argument(
        "--connect", action="append", metavar="OUTPUT=INPUT", help="without it, by equal names"
    )
    made.add_argument("--prefix", metavar="TEXT", help="before the names of the second model")
    made.set_defaults(options={"io_map": "--connect", "second": "MODEL2", "prefix": "--prefix"})
    add_output(made)
    made = command(
        commands,
        "set-shapes",
        "make dimensions of inputs fixed or dynamic, and infer all other shapes anew",
        [
            "onnxwright set-shapes model.onnx --shape x=batch,3,? -o dynamic.onnx",
            "onnxwright set-shapes model.onnx --dim batch=1 -o fixed.onnx",
        ],
        _set_shapes,
    )
    add_model(made)
    made.add_argument(
        "--shape", action="append", metavar="INPUT=DIMS", help="numbers, names, ? to keep one"
    )
    made.add_argument("--dim", action="append", metavar="NAME=DIM", help="a number or a new name")
    add_output(made)
    made = command(
        commands,
        "rename",
        "rename inputs, outputs, other values and dimensions",
        ["onnxwright rename model.onnx --inputs x=ids --dims N=batch -o new.onnx"],
        _rename,
    )
    add_model(made)
    for kind in ("inputs", "outputs", "values", "dims"):
        made.add_argument(f"--{kind}", metavar="OLD=NEW,...")
    add_verify(made)
    add_output(made)


def add_model(made: Any) -> None:
    """Add the argument for the model."""
    made.add_argument("model", metavar="MODEL", help="a file, FILE.py:fn, or - for a pipe")


def add_output(made: Any, *, required: bool = True) -> None:
    """Add the argument for the result."""
    words = "- for a pipe" if required else "- for a pipe; without it nothing is written"
    made.add_argument("-o", "--output", metavar="FILE", required=required, help=words)
    add_json(made)


def add_verify(made: Any) -> None:
    """Add the option that runs the model before and after."""
    made.add_argument("--verify", action="store_true",
                      help="run both models on random inputs, and compare")  # fmt: skip


@dataclass(frozen=True)
class Verified:
    """What running two models on the same inputs found.

    Fields:
        found: the differences of the outputs; None where nobody asked.
    """

    found: Verification | None

    @property
    def data(self) -> dict[str, Any]:
        """It as JSON."""
        if self.found is None:
            return {}
        outputs = {o.name: {"largest": o.largest, "relative": o.relative, "differs": o.words}
                   for o in self.found.outputs}  # fmt: skip
        return {
            "verified": self.found.difference is None, "difference": self.found.difference,
            "runs": list(self.found.runs), "outputs": outputs,
        }  # fmt: skip

    @property
    def code(self) -> int:
        """The exit code."""
        return OK if self.found is None or self.found.difference is None else DIFFERS

    def show(self) -> None:
        """Print it."""
        if self.found is None:
            return
        if self.found.outputs:
            print(self.found.table())
        different = self.found.difference
        print("equal on random inputs" if different is None else f"differs: {clean(different)}")


def verified(given: Namespace, source: Any, model: Any, *, exact: bool = False) -> Verified:
    """Run a model and what was made of it, where `--verify` asks for it.

    Args:
        given: the arguments.
        source: the model, or its path.
        model: what was made of it; its inputs may have other names.
        exact: compare bits.

    Returns:
        What was found.

    Raises:
        CliError: the first model cannot be run on random inputs.
    """
    if not given.verify:
        return Verified(None)
    from onnxwright.verification.verifying import verify

    try:
        return Verified(verify(source, model, exact=exact))
    except ValueError as error:
        if hasattr(error, "diagnostics"):
            raise
        raise CliError(f"{given.model} cannot be verified: {error}") from error


def _write_verified(given: Namespace, source: Any, made: Any) -> int:
    checked = verified(given, source, made)
    write_result(given, made, checked.data)
    if given.output != "-" and not given.json:
        checked.show()
    return checked.code


def _convert(given: Namespace) -> int:
    from onnxwright.versions.api import convert_version

    domains = dict(map(_domain, given.domain or ()))
    if given.opset is None and not domains:
        raise CliError("say what to convert to with --opset or --domain")
    source = model_of(given.model)
    made = convert_version(source, given.opset, domains=domains, ir_version=given.ir_version)
    return _write_verified(given, source, made)


def _extract(given: Namespace) -> int:
    from onnxwright.model_tools import extract

    model = model_of(given.model)
    write_result(given, extract(model, _names(given.inputs), _names(given.outputs)))
    return OK


def _compose(given: Namespace) -> int:
    from onnxwright.model_tools import compose

    pairs = [_pair(text, "--connect") for text in given.connect or ()] or None
    prefix = given.prefix and as_utf8(given.prefix)
    made = compose(model_of(given.model), model_of(given.second), pairs, prefix=prefix)
    write_result(given, made)
    return OK


def _set_shapes(given: Namespace) -> int:
    from onnxwright.model_tools import set_shapes

    if not given.shape and not given.dim:
        raise CliError("say what changes with --shape or --dim")
    shapes = {
        name: [None if d == "?" else _number(d) for d in dims.split(",") if d]
        for name, dims in (_pair(text, "--shape") for text in given.shape or ())
    }
    dims = {name: _number(d) for name, d in (_pair(text, "--dim") for text in given.dim or ())}
    write_result(given, set_shapes(model_of(given.model), shapes, dims=dims))
    return OK


def _rename(given: Namespace) -> int:
    from onnxwright.model_tools import rename

    names = {}
    for kind in ("inputs", "outputs", "values", "dims"):
        texts = [text for text in _names(getattr(given, kind) or "") if text]
        names[kind] = dict(_pair(text, f"--{kind}") for text in texts)
    if not any(names.values()):
        raise CliError("say what to rename with --inputs, --outputs, --values or --dims")
    source = model_of(given.model)
    made = rename(
        source,
        inputs=names["inputs"],
        outputs=names["outputs"],
        values=names["values"],
        dims=names["dims"],
    )
    return _write_verified(given, source, made)


def _names(text: str) -> list[str]:
    return as_utf8(text).split(",")


def _pair(text: str, option: str) -> tuple[str, str]:
    name, sign, value = as_utf8(text).partition("=")
    if not sign or not name:
        raise CliError(f"{option} takes NAME=VALUE, not {text}")
    return name, value


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _domain(text: str) -> tuple[str, int]:
    name, _, number = as_utf8(text).rpartition("=")
    if not name or not number.isdecimal():
        raise CliError(f"--domain takes DOMAIN=N, such as ai.onnx.ml=3, not {text}")
    return name, int(number)


def model_of(argument: str) -> Any:
    """A model: a file as its path, so that weights are not read; the rest as a ModelProto."""
    if argument.endswith((".onnx", ".textproto", ".onnxtxt", ".json")):
        check_file(Path(argument))
        if argument.endswith(".onnx"):
            return argument
    return load(argument).proto


def write_result(given: Namespace, made: Any, more: Mapping[str, Any] | None = None) -> None:
    """Write the result and say what it is, with `more` in the JSON; no file, nothing is written."""
    import onnx_ir as ir

    from onnxwright.ir.saving import as_proto, save

    if given.output is None:
        if given.json:
            print_json({"path": None, **(more or {})})
        return
    if given.output.endswith(".onnx"):
        check_folder(Path(given.output))
        model = made if isinstance(made, ir.Model) else ir.from_proto(made)
        save(model, given.output)
    elif isinstance(made, ir.Model):
        folder = None if given.output == "-" else Path(given.output).parent
        write_model(given.output, as_proto(made, folder))
    else:
        write_model(given.output, made)
    if given.output == "-":
        return
    graph = made.graph
    nodes = len(graph.node) if hasattr(graph, "node") and not isinstance(made, ir.Model) else len(
        list(graph)
    )  # fmt: skip
    if given.json:
        print_json({"path": given.output, "nodes": nodes, **(more or {})})
    else:
        size = Path(given.output).stat().st_size
        print(f"{given.output}: {nodes} {'node' if nodes == 1 else 'nodes'}, {size:,} bytes")


__all__ = [
    "Verified", "add", "add_model", "add_output", "add_verify", "model_of", "verified",
    "write_result",
]  # fmt: skip
