"""`quantize` and `half`: smaller weights, and half precision."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from onnxwright.cli.change.changing import OUTPUT, model_of, write_verified
from onnxwright.cli.shared.grammar import JSON, MODEL, argument, choice, command, flag
from onnxwright.diagnostics.text import as_utf8


@command(
    "quantize",
    "weights of products in four or eight bits",
    [
        "onnxwright quantize model.onnx -o small.onnx --bits 4 --report",
        "onnxwright quantize model.onnx -o small.onnx --bits 8 --dynamic",
        "onnxwright quantize model.onnx -o small.onnx --skip 'lm_head*' --target onnxruntime",
    ],
    MODEL,
    argument("--bits", None, type=int, choices=(4, 8), default=4),
    argument(
        "--block", "N", "elements that share a scale; 0 for a whole column", type=int, default=32
    ),
    flag("--asymmetric", "write zero points"),
    argument(
        "--skip", "NAME", "a node or weight that stays, or a pattern", action="append", default=[]
    ),
    flag("--embeddings", "tables that Gather reads, too"),
    choice(
        "--target", ("any", "onnxruntime"), "onnxruntime: its own operators are used", default="any"
    ),
    argument("--accuracy-level", "N", "of MatMulNBits: 0 to 4", type=int),
    flag("--dynamic", "round activations to eight bits in each run"),
    flag("--report", "say what was done"),
    OUTPUT,
    JSON,
)
def _quantize(args: Namespace) -> int:
    from onnxwright.quantize import quantize_weights

    model, report = quantize_weights(
        model_of(args.model), args.bits, block=args.block or None,
        symmetric=not args.asymmetric, skip=[as_utf8(name) for name in args.skip],
        embeddings=args.embeddings, target=args.target, accuracy_level=args.accuracy_level,
        dynamic=args.dynamic, report=True,
    )  # fmt: skip
    weights = [
        {"name": w.name, "nodes": list(w.nodes), "shape": list(w.shape), "bits": w.bits,
         "block": w.block, "bytes": list(w.bytes), "error": w.error}
        for w in report.weights
    ]  # fmt: skip
    skipped = [{"name": s.name, "node": s.node, "reason": s.reason} for s in report.skipped]
    data = {"bytes": list(report.bytes), "weights": weights, "skipped": skipped}
    return _written(args, model, report, data)


@command(
    "half",
    "a model that computes in half precision",
    [
        "onnxwright half model.onnx -o half.onnx --report",
        "onnxwright half model.onnx -o half.onnx --dtype bfloat16 --keep 'Softmax'",
    ],
    MODEL,
    choice("--dtype", ("float16", "bfloat16"), default="float16"),
    argument(
        "--keep",
        "NAME",
        "a node, operator or weight to leave, or a pattern",
        action="append",
        default=[],
    ),
    choice("--io", ("keep", "half"), "half: inputs and outputs change too", default="keep"),
    flag("--report", "say what was done"),
    OUTPUT,
    JSON,
)
def _half(args: Namespace) -> int:
    from onnxwright.quantize import to_half

    model, report = to_half(
        model_of(args.model), args.dtype, keep=[as_utf8(name) for name in args.keep],
        io=args.io, report=True,
    )  # fmt: skip
    data = {"bytes": list(report.bytes), "converted": report.converted, "kept": report.kept}
    return _written(args, model, report, data)


def _written(args: Namespace, model: Any, report: object, data: Mapping[str, Any]) -> int:
    if not args.report:
        return write_verified(args, None, model)
    return write_verified(args, None, model, data={"report": data}, reports=[report])
