"""`check`, `explain` and `gen-stubs`: commands that need no model."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from onnxwright.cli.shared.console import DIFFERS, OK, print_json, wants_color
from onnxwright.cli.shared.grammar import add_color, add_json, command

if TYPE_CHECKING:
    from onnxwright.cli.shared.grammar import Commands


def add(commands: Commands) -> None:
    """Add the commands to the parser."""
    check = command(
        commands, "check", "compile every script of Python files",
        ["onnxwright check model.py", "onnxwright check *.py --output-format github",
         "onnxwright check model.py --watch"], _check,
    )  # fmt: skip
    check.add_argument("files", nargs="+", metavar="FILE.py")
    check.add_argument(
        "--output-format", choices=("text", "json", "github", "sarif"), default="text",
        help="github: annotations of a workflow; sarif: for code scanning and editors",
    )  # fmt: skip
    check.add_argument(
        "--watch", action="store_true",
        help="check again after each change of the files and of what they import, until Ctrl-C; "
        "the exit status is that of the last check",
    )  # fmt: skip
    add_json(check)
    add_color(check)
    explain = command(
        commands, "explain", "print the page of an error code, or find codes by words",
        ["onnxwright explain OW302", "onnxwright explain read after a loop"],
        _explain,
    )  # fmt: skip
    explain.add_argument(
        "words", nargs="*", metavar="CODE or WORDS",
        help="a code such as OW302, or words to look for in the pages; without them all are listed",
    )  # fmt: skip
    add_json(explain)
    stubs = command(
        commands, "gen-stubs", "write the type stubs of the operators of the installed onnx",
        ["onnxwright gen-stubs", "onnxwright gen-stubs --check --builder"], _stubs,
    )  # fmt: skip
    stubs.add_argument("--check", action="store_true", help="write nothing; 1 where stale")
    stubs.add_argument(
        "-o", "--output", metavar="FILE", help="not beside the package; - for a pipe"
    )
    stubs.add_argument(
        "--builder", action="store_true", help="those of GraphBuilder, in place of the opsets'"
    )
    add_json(stubs)


def _check(given: Namespace) -> int:
    from onnxwright.cli.check.scripts import check_files

    form = "json" if given.json else given.output_format
    color = wants_color(given.color)
    if not given.watch:
        return check_files(given.files, color=color, form=form)
    from onnxwright.cli.check.watching import watch

    return watch(given.files, lambda: check_files(given.files, color=color, form=form))


def _explain(given: Namespace) -> int:
    from onnxwright.cli.look.explain import explain_words

    return explain_words(given.words, as_json=given.json)


def _stubs(given: Namespace) -> int:
    from onnxwright.builder import stubs as of_builder
    from onnxwright.cli.shared.files import write
    from onnxwright.opset import stubs as of_opsets

    module = of_builder if given.builder else of_opsets
    text = module.generate()
    target = given.output or str(module.STUB)
    if target == "-" and not given.check:
        write(target, text)
        return OK
    path = Path(target)
    stale = not path.is_file() or path.read_text(encoding="utf-8") != text
    if stale and not given.check:
        write(target, text)
    lines = len(text.splitlines())
    if given.json:
        written = stale and not given.check
        print_json({"path": target, "lines": lines, "stale": stale, "written": written})
    elif given.check:
        again = f"onnxwright gen-stubs{' --builder' if given.builder else ''}"
        words = f"is stale: run `{again}`" if stale else "is up to date"
        print(f"{target} {words}")
    else:
        print(f"{target}: {lines:,} lines{'' if stale else ', as before'}")
    return DIFFERS if stale and given.check else OK


__all__ = ["add"]
