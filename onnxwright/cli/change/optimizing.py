"""`optimize`: a model with fewer nodes that computes the same."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from onnxwright.cli.change.changing import (
    add_model,
    add_output,
    add_verify,
    model_of,
    verified,
    write_result,
)
from onnxwright.cli.shared.grammar import command
from onnxwright.diagnostics.text import as_utf8

if TYPE_CHECKING:
    from onnxwright.cli.shared.grammar import Commands


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "optimize",
        "make a model smaller and faster; what it computes stays",
        [
            "onnxwright optimize model.onnx -o small.onnx --report",
            "onnxwright optimize model.onnx --explain --verify",
            "onnxwright optimize model.onnx -o small.onnx --level exact --verify",
            "onnxwright optimize model.onnx -o small.onnx --opset 23 --target onnxruntime",
        ],
        _run,
    )
    add_model(parser)
    parser.add_argument("--level", choices=("exact", "rounding"), default="rounding",
                      help="exact: the same bits; rounding: results may differ by it")  # fmt: skip
    parser.add_argument("--target", choices=("any", "onnxruntime"), default="any",
                      help="onnxruntime: its own operators may be used")  # fmt: skip
    parser.add_argument("--opset", type=int, metavar="N", help="the opset version afterwards")
    parser.add_argument("--skip", action="append", metavar="RULE", default=[],
                      help="a rule that is not used, move_transposes or share_weights")  # fmt: skip
    parser.add_argument("--keep", action="append", metavar="NAME", default=[],
                      help="a value or weight that stays what it is")  # fmt: skip
    parser.add_argument("--assume", action="append", metavar="WHAT", default=[],
                      help="nonempty, finite, right_padded, visible, frozen, "
                      "constant_initializers or default_session")  # fmt: skip
    parser.add_argument("--inline", action="store_true", help="inline model-local functions")
    parser.add_argument("--prune", action="store_true", help="remove functions that nothing calls")
    parser.add_argument("--report", action="store_true", help="say what was done")
    parser.add_argument("--explain", action="store_true",
                      help="say rule by rule what was done, nodes before and after")  # fmt: skip
    add_verify(parser)
    add_output(parser, required=False)


def _run(given: Namespace) -> int:
    from onnxwright.optimizer import optimize
    from onnxwright.optimizer.steps import merged

    source = model_of(given.model)
    model, report = optimize(
        source, level=given.level, target=given.target, opset_version=given.opset,
        skip=given.skip, keep=[as_utf8(name) for name in given.keep], assume=given.assume,
        inline=given.inline, prune=given.prune, report=True,
    )  # fmt: skip
    more: dict[str, Any] = {}
    if given.report:
        more["report"] = {
            "nodes": list(report.nodes),
            "weight_bytes": list(report.weight_bytes),
            "operators": {k: list(v) for k, v in report.operators.items()},
            "rules": dict(report.rules),
            "shared_weights": report.shared_weights,
        }
    if given.explain:
        more["steps"] = [asdict(step) for step in merged(report.steps)]
    checked = verified(given, source, model, exact=given.level == "exact")
    write_result(given, model, {**more, **checked.data})
    if given.output != "-" and not given.json:
        if given.report:
            print(report)
        if given.explain:
            print(report.explain())
        checked.show()
    return checked.code


__all__ = ["add"]
