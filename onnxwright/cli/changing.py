"""`convert`: a model in another opset version."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onnxwright.cli.console import OK, Trouble, print_json
from onnxwright.cli.files import check_file, check_folder, load, write_model
from onnxwright.cli.grammar import add_json, command


def add(commands: Any) -> None:
    """Add the commands to the parser."""
    made = command(
        commands,
        "convert",
        "convert a model to another opset version, newer or older",
        [
            "onnxwright convert model.onnx --opset 21 -o new.onnx",
            "onnxwright convert model.onnx --opset 13 --ir-version 7 -o old.onnx",
        ],
        _convert,
    )
    add_model(made)
    made.add_argument("--opset", type=int, metavar="N", help="the version of the default domain")
    made.add_argument(
        "--domain", action="append", metavar="DOMAIN=N", help="the version of another domain"
    )
    made.add_argument("--ir-version", type=int, metavar="N")
    add_output(made)


def add_model(made: Any) -> None:
    """Add the argument for the model."""
    made.add_argument("model", metavar="MODEL", help="a file, FILE.py:fn, or - for a pipe")


def add_output(made: Any) -> None:
    """Add the argument for the result."""
    made.add_argument("-o", "--output", metavar="FILE", required=True, help="- for a pipe")
    add_json(made)


def _convert(given: Any) -> int:
    from onnxwright.optimizer.versions import convert_version

    domains = dict(map(_domain, given.domain or ()))
    if given.opset is None and not domains:
        raise Trouble("say what to convert to with --opset or --domain")
    made = convert_version(
        model_of(given.model), given.opset, domains=domains, ir_version=given.ir_version
    )
    write_result(given, made)
    return OK


def _domain(text: str) -> tuple[str, int]:
    name, _, number = text.rpartition("=")
    if not name or not number.isdecimal():
        raise Trouble(f"--domain takes DOMAIN=N, such as ai.onnx.ml=3, not {text}")
    return name, int(number)


def model_of(argument: str) -> Any:
    """A model: a file as its path, so that weights are not read; the rest as a ModelProto."""
    if argument.endswith((".onnx", ".textproto", ".onnxtxt", ".json")):
        check_file(Path(argument))
        if argument.endswith(".onnx"):
            return argument
    return load(argument).proto


def write_result(given: Any, made: Any, more: Mapping[str, Any] | None = None) -> None:
    """Write the result and say what it is, with `more` in the JSON."""
    import onnx_ir as ir

    from onnxwright.optimizer.model_tools.files import save

    if given.output.endswith(".onnx"):
        check_folder(Path(given.output))
        model = made if isinstance(made, ir.Model) else ir.from_proto(made)
        save(model, given.output)
    else:
        write_model(given.output, ir.to_proto(made) if isinstance(made, ir.Model) else made)
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


__all__ = ["add", "add_model", "add_output", "model_of", "write_result"]
