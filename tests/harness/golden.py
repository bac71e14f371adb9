# ruff: noqa: T201 - a command prints
"""Bad programs with the exact text they get, and the pages made from them.

A case is a file `<code>_<what>.py`: a program as a user would write it, that ends in a message of
that code.  Beside it stand `<code>_<what>.err`, the text of the message, and, for one case of a
code, `<code>_<what>.fixed.py`, the program mended.  The command

    python -m tests.harness.golden --accept

writes the `.err` files and the pages of `onnxwright explain` again; without `--accept` it says what
differs.  Adding a case adds files, not code.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import inspect
import io
import linecache
import re
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from onnxwright.diagnostics.catalogue import load_catalogue
from onnxwright.diagnostics.diagnostic import CATALOGUE, Diagnostic
from onnxwright.diagnostics.render import render_all
from onnxwright.errors import OnnxwrightError, OnnxwrightWarning

NAME = "model.py"
"""The file name a case has while it runs, so that its text is that of any user's file."""

# Packages that a program of a case may import though not every machine has them.
_OPTIONAL = re.compile(r"^import (torch)$", re.MULTILINE)

# Texts that a program put into linecache; the next program must not find them.
_texts: set[str] = set()

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "converter" / "errors"
PAGES = ROOT / "onnxwright" / "diagnostics" / "pages"


@dataclass(frozen=True, order=True)
class Case:
    """One bad program on disk."""

    path: Path

    @property
    def code(self) -> str:
        """The code its message has."""
        return self.path.name.split("_", 1)[0]

    @property
    def text(self) -> str:
        """The bad program."""
        return self.path.read_text(encoding="utf-8")

    @property
    def missing(self) -> str:
        """What the program needs and this machine does not have; empty if it can run."""
        needed = _OPTIONAL.findall(self.text)
        absent = [name for name in needed if importlib.util.find_spec(name) is None]
        return absent[0] if absent else ""

    @property
    def golden(self) -> Path:
        """Where the text of its message is kept."""
        return self.path.with_suffix(".err")

    @property
    def fixed(self) -> Path:
        """Where the mended program is, if this is the case the page shows."""
        return self.path.with_suffix(".fixed.py")


def cases(folder: Path = CASES) -> list[Case]:
    """The cases of a folder, in order of code."""
    return [
        Case(path) for path in sorted(folder.glob("OW*.py")) if not path.name.endswith(".fixed.py")
    ]


def run_text(text: str) -> tuple[Diagnostic, ...]:
    """Run a program; the messages it got: of its error if it raised one, else its warnings.

    Args:
        text: the source of a module.

    Returns:
        The messages, empty where there are none.

    Raises:
        Exception: whatever else the program raises, which no program should.

    Source:
        DESIGN section 4.

    Example:
        >>> run_text("x = 1")
        ()
    """
    for name in _texts:
        linecache.cache.pop(name, None)
    known = set(linecache.cache)
    linecache.cache[NAME] = (len(text), None, text.splitlines(keepends=True), NAME)
    module = types.ModuleType("model")
    module.__file__ = NAME
    # Classes and annotations of the program look their module up.
    before = sys.modules.get("model")
    sys.modules["model"] = module
    try:
        with (
            warnings.catch_warnings(record=True) as seen,
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("always")
            exec(compile(text, NAME, "exec"), module.__dict__)  # noqa: S102 - running it is the point
    except OnnxwrightError as error:
        return error.diagnostics
    finally:
        _texts.update(set(linecache.cache) - known)
        if before is None:
            del sys.modules["model"]
        else:
            sys.modules["model"] = before
    found = [w.message for w in seen]
    return tuple(w.diagnostic for w in found if isinstance(w, OnnxwrightWarning))


@functools.cache
def outcome(text: str) -> tuple[tuple[Diagnostic, ...], str]:
    """The messages that a program gets, and as its user sees them; each text is run once.

    Args:
        text: the source of a module.

    Returns:
        What `run_text` gives, and its rendering.
    """
    linecache.cache[NAME] = (len(text), None, text.splitlines(keepends=True), NAME)
    found = run_text(text)
    return found, render_all(found) + "\n"


def message(text: str) -> str:
    """The text a program gets, as its user sees it."""
    return outcome(text)[1]


def page(case: Case) -> str:
    """The page of a code, from its class and the case that has a mended program."""
    entry = CATALOGUE[case.code]
    kind = "a warning" if entry.severity == "warning" else f"raised as `{entry.error.__name__}`"
    return "\n".join(
        [
            f"# {case.code}: {entry.__name__}",
            "",
            inspect.cleandoc(entry.__doc__ or ""),
            "",
            f"It is {kind}.",
            "",
            "## A program that has it",
            "",
            "```python",
            case.text.rstrip("\n"),
            "```",
            "",
            "```text",
            message(case.text).rstrip("\n"),
            "```",
            "",
            "## The program mended",
            "",
            "```python",
            case.fixed.read_text(encoding="utf-8").rstrip("\n"),
            "```",
            "",
        ]
    )


def index() -> str:
    """The page that lists all codes."""
    rows = [
        f"| {_linked(code)} | {entry.severity} | {_first_line(entry)} |"
        for code, entry in sorted(CATALOGUE.items())
    ]
    head = ["# Error codes", "", "`onnxwright explain OW302` prints a page.", ""]
    return "\n".join([*head, "| code | kind | meaning |", "|---|---|---|", *rows, ""])


def _linked(code: str) -> str:
    """The code, with a link where it has a page."""
    return f"[{code}]({code}.md)" if (PAGES / f"{code}.md").exists() else code


def _first_line(entry: type[Diagnostic]) -> str:
    paragraph = inspect.cleandoc(entry.__doc__ or "").split("\n\n", 1)[0]
    return " ".join(paragraph.split()).replace("|", "\\|")


def expected_files() -> Iterator[tuple[Path, str]]:
    """Every generated file with the text it should have, but those whose case cannot run here."""
    load_catalogue()
    for case in cases():
        if case.missing:
            continue
        yield case.golden, message(case.text)
        if case.fixed.exists():
            yield PAGES / f"{case.code}.md", page(case)
    yield PAGES / "index.md", index()


def main(arguments: Sequence[str] | None = None) -> int:
    """Check or rewrite the goldens and the pages; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.golden")
    parser.add_argument("--accept", action="store_true", help="write what is found")
    given = parser.parse_args(arguments)
    stale = 0
    for case in cases():
        if case.missing:
            print(f"left out: {case.path.name} needs {case.missing}")
    for path, text in expected_files():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        print(("wrote " if given.accept else "differs: ") + str(path.relative_to(ROOT)))
        if given.accept:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if stale and not given.accept else 0


__all__ = [
    "Case", "cases", "expected_files", "index", "main", "message", "outcome", "page", "run_text",
]  # fmt: skip

if __name__ == "__main__":
    sys.exit(main())
