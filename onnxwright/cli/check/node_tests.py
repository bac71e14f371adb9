"""`onnxwright test-op NAME --script FILE.py:fn`: ONNX's node tests, run on a script."""

from __future__ import annotations

from argparse import Namespace

from onnxwright.cli.shared.console import DIFFERS, OK, CliError, print_json
from onnxwright.cli.shared.grammar import JSON, argument, command, flag
from onnxwright.cli.shared.programs import find_script, split_target


@command(
    "test-op",
    "run ONNX's own node tests of an operator with a script in its place",
    [
        "onnxwright test-op Softmax --script my_ops.py:softmax",
        "onnxwright test-op ai.onnx.ml.Binarizer --script my_ops.py:binarize --json",
    ],
    argument("name", "NAME", "the operator; after its domain, if it has one"),
    argument(
        "--script",
        "FILE.py:fn",
        "the script: inputs in the order of the operator, attributes by their names",
        required=True,
    ),
    argument("-k", "TEXT", "only tests that have this text in their names"),
    flag("-q --quiet", "no line for tests that are right"),
    JSON,
)
def _run(args: Namespace) -> int:
    from onnxwright.testing.node_cases import RIGHT, cases_of, counts, judge

    domain, _, name = args.name.rpartition(".")
    domain = "" if domain == "ai.onnx" else domain
    target = split_target(args.script)
    if target is None:
        raise CliError(f"--script takes FILE.py:fn, not {args.script}")
    _check_name(name, domain)
    cases = cases_of(name, domain)
    if not cases:
        raise CliError(f"onnx has no node test of {name} alone")
    if args.k:
        cases = [case for case in cases if args.k in case.name]
        if not cases:
            raise CliError(f"no node test of {name} has {args.k!r} in its name")
    script = find_script(*target)
    results = [judge(script, case) for case in cases]
    totals = counts(results)
    if args.json:
        tests = [{"name": r.case, "verdict": r.verdict, "reason": r.reason} for r in results]
        print_json({"operator": args.name, **totals, "tests": tests})
    else:
        width = max(len(result.case) for result in results)
        for result in results:
            if not args.quiet or result.verdict != RIGHT:
                line = f"{result.case:{width}}  {result.verdict:7}  {result.reason}"
                print(line.rstrip())
        print(", ".join(f"{count} {verdict}" for verdict, count in totals.items()))
    return OK if totals["right"] and not totals["wrong"] else DIFFERS


def _check_name(name: str, domain: str) -> None:
    """Refuse what is not an operator, before any test is made."""
    from onnxwright.opset import registry
    from onnxwright.opset.describe import did_you_mean

    names = list(registry.all_names(domain)) if domain in registry.domains() else []
    if name not in names:
        near = did_you_mean(name, names)
        raise CliError(f"there is no operator {name}" + (f"; did you mean {near}?" if near else ""))
