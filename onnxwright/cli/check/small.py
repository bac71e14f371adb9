"""`check`, `explain` and `gen-stubs`: commands that need no model."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from onnxwright.cli.shared.console import DIFFERS, OK, print_json, wants_color
from onnxwright.cli.shared.grammar import COLOR, JSON, argument, choice, command, flag


@command(
    "check",
    "compile every script of Python files",
    [
        "onnxwright check model.py",
        "onnxwright check *.py --output-format github",
        "onnxwright check model.py --watch",
    ],
    argument("files", "FILE.py", nargs="+"),
    choice(
        "--output-format",
        ("text", "json", "github", "sarif"),
        "github: annotations of a workflow; sarif: for code scanning and editors",
        default="text",
    ),
    flag(
        "--watch",
        "check again after each change of the files and of what they import, until Ctrl-C; "
        "the exit status is that of the last check",
    ),
    JSON,
    COLOR,
)
def _check(args: Namespace) -> int:
    from onnxwright.cli.check.scripts import check_files

    form = "json" if args.json else args.output_format
    color = wants_color(args.color)
    if not args.watch:
        return check_files(args.files, color=color, form=form)
    from onnxwright.cli.check.watching import watch

    return watch(args.files, lambda: check_files(args.files, color=color, form=form))


@command(
    "explain",
    "print the page of an error code, or find codes by words",
    ["onnxwright explain OW302", "onnxwright explain read after a loop"],
    argument(
        "words",
        "CODE or WORDS",
        "a code such as OW302, or words to look for in the pages; without them all are listed",
        nargs="*",
    ),
    JSON,
)
def _explain(args: Namespace) -> int:
    from onnxwright.cli.look.explain import explain_words

    return explain_words(args.words, as_json=args.json)


@command(
    "gen-stubs",
    "write the type stubs of the operators of the installed onnx",
    ["onnxwright gen-stubs", "onnxwright gen-stubs --check --builder"],
    flag("--check", "write nothing; 1 where stale"),
    argument("-o --output", "FILE", "not beside the package; - for a pipe"),
    flag("--builder", "those of GraphBuilder, in place of the opsets'"),
    JSON,
)
def _stubs(args: Namespace) -> int:
    from onnxwright.builder import stubs as of_builder
    from onnxwright.cli.shared.files import write
    from onnxwright.opset import stubs as of_opsets

    module = of_builder if args.builder else of_opsets
    text = module.generate()
    target = args.output or str(module.STUB)
    if target == "-" and not args.check:
        write(target, text)
        return OK
    path = Path(target)
    stale = not path.is_file() or path.read_text(encoding="utf-8") != text
    if stale and not args.check:
        write(target, text)
    lines = len(text.splitlines())
    if args.json:
        written = stale and not args.check
        print_json({"path": target, "lines": lines, "stale": stale, "written": written})
    elif args.check:
        again = f"onnxwright gen-stubs{' --builder' if args.builder else ''}"
        words = f"is stale: run `{again}`" if stale else "is up to date"
        print(f"{target} {words}")
    else:
        print(f"{target}: {lines:,} lines{'' if stale else ', as before'}")
    return DIFFERS if stale and args.check else OK
