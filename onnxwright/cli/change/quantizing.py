"""`quantize` and `half`: smaller weights, and half precision."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onnxwright.cli.change.changing import add_model, add_output, model_of, write_result
from onnxwright.cli.shared.console import OK
from onnxwright.cli.shared.grammar import command
from onnxwright.diagnostics.text import as_utf8

if TYPE_CHECKING:
    from onnxwright.cli.shared.grammar import Commands


def add(commands: Commands) -> None:
    """Add the commands to the parser."""
    parser = command(
        commands,
        "quantize",
        "weights of products in four or eight bits",
        [
            "onnxwright quantize model.onnx -o small.onnx --bits 4 --report",
            "onnxwright quantize model.onnx -o small.onnx --bits 8 --dynamic",
            "onnxwright quantize model.onnx -o small.onnx --skip 'lm_head*' --target onnxruntime",
        ],
        _quantize,
    )
    add_model(parser)
    parser.add_argument("--bits", type=int, choices=(4, 8), default=4)
    parser.add_argument("--block", type=int, metavar="N", default=32,
                      help="elements that share a scale; 0 for a whole column")  # fmt: skip
    parser.add_argument("--asymmetric", action="store_true", help="write zero points")
    parser.add_argument("--skip", action="append", metavar="NAME", default=[],
                      help="a node or weight that stays, or a pattern")  # fmt: skip
    parser.add_argument("--embeddings", action="store_true", help="tables that Gather reads, too")
    parser.add_argument("--target", choices=("any", "onnxruntime"), default="any",
                      help="onnxruntime: its own operators are used")  # fmt: skip
    parser.add_argument("--accuracy-level", type=int, metavar="N", help="of MatMulNBits: 0 to 4")
    parser.add_argument("--dynamic", action="store_true",
                      help="round activations to eight bits in each run")  # fmt: skip
    parser.add_argument("--report", action="store_true", help="say what was done")
    add_output(parser)
    parser = command(
        commands,
        "half",
        "a model that computes in half precision",
        [
            "onnxwright half model.onnx -o half.onnx --report",
            "onnxwright half model.onnx -o half.onnx --dtype bfloat16 --keep 'Softmax'",
        ],
        _half,
    )
    add_model(parser)
    parser.add_argument("--dtype", choices=("float16", "bfloat16"), default="float16")
    parser.add_argument("--keep", action="append", metavar="NAME", default=[],
                      help="a node, operator or weight to leave, or a pattern")  # fmt: skip
    parser.add_argument("--io", choices=("keep", "half"), default="keep",
                      help="half: inputs and outputs change too")  # fmt: skip
    parser.add_argument("--report", action="store_true", help="say what was done")
    add_output(parser)


def _quantize(given: Namespace) -> int:
    from onnxwright.quantize import quantize_weights

    model, report = quantize_weights(
        model_of(given.model), given.bits, block=given.block or None,
        symmetric=not given.asymmetric, skip=[as_utf8(name) for name in given.skip],
        embeddings=given.embeddings, target=given.target, accuracy_level=given.accuracy_level,
        dynamic=given.dynamic, report=True,
    )  # fmt: skip
    weights = [
        {"name": w.name, "nodes": list(w.nodes), "shape": list(w.shape), "bits": w.bits,
         "block": w.block, "bytes": list(w.bytes), "error": w.error}
        for w in report.weights
    ]  # fmt: skip
    skipped = [{"name": s.name, "node": s.node, "reason": s.reason} for s in report.skipped]
    data = {"bytes": list(report.bytes), "weights": weights, "skipped": skipped}
    return _written(given, model, report, data)


def _half(given: Namespace) -> int:
    from onnxwright.quantize import to_half

    model, report = to_half(
        model_of(given.model), given.dtype, keep=[as_utf8(name) for name in given.keep],
        io=given.io, report=True,
    )  # fmt: skip
    data = {"bytes": list(report.bytes), "converted": report.converted, "kept": report.kept}
    return _written(given, model, report, data)


def _written(given: Namespace, model: Any, report: object, data: Mapping[str, Any]) -> int:
    write_result(given, model, {"report": data} if given.report else {})
    if given.report and given.output != "-" and not given.json:
        print(report)
    return OK


__all__ = ["add"]
