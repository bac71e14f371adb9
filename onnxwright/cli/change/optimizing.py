"""`optimize`: a model with fewer nodes that computes the same; `rules`: which rules there are."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

from onnxwright.cli.change.changing import VERIFY, model_of, write_verified
from onnxwright.cli.shared.console import OK, CliError, print_json
from onnxwright.cli.shared.grammar import JSON, MODEL, argument, choice, command, flag
from onnxwright.diagnostics.text import as_utf8


@command(
    "optimize",
    "make a model smaller and faster; what it computes stays",
    [
        "onnxwright optimize model.onnx -o small.onnx --report",
        "onnxwright optimize model.onnx --explain --verify",
        "onnxwright optimize model.onnx -o small.onnx --level exact --verify",
        "onnxwright optimize model.onnx -o small.onnx --only gelu_erf --only matmul_and_bias",
        "onnxwright optimize model.onnx -o small.onnx --opset 23 --target onnxruntime",
    ],
    MODEL,
    choice(
        "--level",
        ("exact", "rounding"),
        "exact: the same bits; rounding: results may differ by it",
        default="rounding",
    ),
    choice(
        "--target",
        ("any", "onnxruntime"),
        "onnxruntime: its own operators may be used",
        default="any",
    ),
    argument("--opset", "N", "the opset version afterwards", type=int),
    argument(
        "--only",
        "RULE",
        "a rule or pass that is used, no others; again for more; see onnxwright rules",
        action="append",
    ),
    argument("--skip", "RULE", "a rule or pass that is not used", action="append", default=[]),
    argument(
        "--keep", "NAME", "a value or weight that stays what it is", action="append", default=[]
    ),
    argument(
        "--assume",
        "WHAT",
        "nonempty, finite, right_padded, visible, frozen, constant_initializers or default_session",
        action="append",
        default=[],
    ),
    flag("--inline", "inline model-local functions"),
    flag("--prune", "remove functions that nothing calls"),
    flag("--report", "say what was done"),
    flag("--explain", "say rule by rule what was done, nodes before and after"),
    VERIFY,
    argument("-o --output", "FILE", "- for a pipe; without it nothing is written"),
    JSON,
    options={"only": "--only", "skip": "--skip", "assume": "--assume"},
)
def _run(args: Namespace) -> int:
    from onnxwright.optimizer import optimize
    from onnxwright.optimizer.steps import merged

    source = model_of(args.model)
    model, report = optimize(
        source, level=args.level, target=args.target, opset_version=args.opset,
        only=args.only, skip=args.skip, keep=[as_utf8(name) for name in args.keep],
        assume=args.assume, inline=args.inline, prune=args.prune, report=True,
    )  # fmt: skip
    more: dict[str, Any] = {}
    if args.report:
        more["report"] = {
            "nodes": list(report.nodes),
            "weight_bytes": list(report.weight_bytes),
            "operators": {k: list(v) for k, v in report.operators.items()},
            "rules": dict(report.rules),
            "shared_weights": report.shared_weights,
        }
    if args.explain:
        more["steps"] = [asdict(step) for step in merged(report.steps)]
    reports = [report] if args.report else []
    if args.explain:
        reports.append(report.explain())
    exact = args.level == "exact"
    return write_verified(args, source, model, exact=exact, data=more, reports=reports)


@command(
    "rules",
    "list the rules and passes of optimize, those with a word in their name or description",
    ["onnxwright rules", "onnxwright rules gelu"],
    argument("word", "WORD", "all rules without it", nargs="?", default=""),
    JSON,
)
def _rules(args: Namespace) -> int:
    from onnxwright.optimizer.chosen_rules import PASSES, library_rules

    word = args.word.lower()
    rows: list[dict[str, Any]] = [
        {"name": r.name, "what": r.doc.partition("\n")[0], "level": r.level, "since": r.since,
         "target": r.target, "assume": sorted(r.assume)}
        for r in library_rules().values()
    ]  # fmt: skip
    rows += [{"name": name, "what": what} for name, what in PASSES.items()]
    rows = [row for row in rows if word in f"{row['name']} {row['what']}".lower()]
    if not rows:
        raise CliError(f"no rule has {args.word!r} in its name or description")
    if args.json:
        print_json(rows)
        return OK
    wide = max(len(row["name"]) for row in rows)
    for row in rows:
        print(f"{row['name']:{wide}}  {row['what']}")
    return OK
