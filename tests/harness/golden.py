# ruff: noqa: T201 - a command prints
"""Error pages as tests: each page holds bad programs, the exact text they get, and one mended.

A page is `onnxwright/diagnostics/pages/OW###.md`.  A new one needs two headings, each with a Python
block below it:

    ## A program that has it
    ## The program mended

and, where more programs are worth a test, `## Other programs that have it` with any number of
blocks.  The command

    python -m tests.harness.golden --accept

writes the rest of each page from the catalogue and from running its programs: the heading, the
description and the text below each bad program.  Without `--accept` it says what differs.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import inspect
import io
import linecache
import os
import re
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from onnxwright.diagnostics.catalogue import load_catalogue
from onnxwright.diagnostics.diagnostic import CATALOGUE, Diagnostic
from onnxwright.diagnostics.render import render_all
from onnxwright.errors import Message, OnnxwrightError, OnnxwrightWarning

NAME = "model.py"
"""The file name a program has while it runs, so that its text is that of any user's file."""

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "onnxwright" / "diagnostics" / "pages"

SHOWN, MENDED, OTHERS = (
    "A program that has it",
    "The program mended",
    "Other programs that have it",
)

# Packages that a program may import though not every machine has them.
_OPTIONAL = re.compile(r"^import (torch)$", re.MULTILINE)
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Texts that a program put into linecache; the next program must not find them.
_texts: set[str] = set()


@dataclass(frozen=True)
class Case:
    """One bad program of a page.

    Fields:
        code: the code that its message has.
        number: its place on the page, from 0.
        text: the program.
        golden: the text of its message as the page has it; empty if the page has none yet.
    """

    code: str
    number: int
    text: str
    golden: str

    @property
    def missing(self) -> str:
        """What the program needs and this machine does not have; empty if it can run."""
        needed = _OPTIONAL.findall(self.text)
        absent = [name for name in needed if importlib.util.find_spec(name) is None]
        return absent[0] if absent else ""


@dataclass(frozen=True)
class Page:
    """A page as it is on disk.

    Fields:
        path: its file.
        cases: its bad programs; the first is the one that is mended.
        mended: the first program without the error.
    """

    path: Path
    cases: tuple[Case, ...]
    mended: str

    @property
    def code(self) -> str:
        """The code that the page is about."""
        return self.path.stem


def read_page(path: Path) -> Page:
    """A page of an error code, read from its file.

    Args:
        path: a file `OW###.md`.

    Returns:
        Its programs and their texts.

    Raises:
        ValueError: a section has no program.
    """
    parts = _SECTION.split(path.read_text(encoding="utf-8"))
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    bad = _programs(sections.get(SHOWN, ""))
    mended = _programs(sections.get(MENDED, ""))
    if len(bad) != 1 or len(mended) != 1:
        raise ValueError(f"{path.name} needs one Python block under {SHOWN!r} and {MENDED!r} each")
    bad += _programs(sections.get(OTHERS, ""))
    cases = [Case(path.stem, number, *program) for number, program in enumerate(bad)]
    return Page(path, tuple(cases), mended[0][0])


def _programs(section: str) -> list[tuple[str, str]]:
    """The Python blocks of a section, each with the text block below it."""
    programs: list[tuple[str, str]] = []
    for kind, text in _BLOCK.findall(section):
        if kind == "python":
            programs.append((text, ""))
        else:
            programs[-1] = (programs[-1][0], text)
    return programs


@functools.cache
def pages() -> tuple[Page, ...]:
    """All pages, in order of code."""
    return tuple(read_page(path) for path in sorted(PAGES.glob("OW*.md")))


def cases() -> list[Case]:
    """The bad programs of all pages, in order of code."""
    return [case for page in pages() for case in page.cases]


def run_text(text: str) -> tuple[Message, ...]:
    """Run a program; the messages it got: of its error if it raised one, else its warnings.

    Args:
        text: the source of a module.

    Returns:
        The messages, empty where there are none.

    Raises:
        Exception: whatever else the program raises, which no program should.

    Example:
        >>> run_text("x = 1")
        ()
    """
    for name in _texts:
        linecache.cache.pop(name, None)
    names_before = set(linecache.cache)
    linecache.cache[NAME] = (len(text), None, text.splitlines(keepends=True), NAME)
    module = types.ModuleType("model")
    module.__file__ = NAME
    # Classes and annotations of the program look their module up.
    module_before = sys.modules.get("model")
    sys.modules["model"] = module
    try:
        with (
            warnings.catch_warnings(record=True) as recorded,
            contextlib.redirect_stdout(io.StringIO()),
            _empty_folder(),
        ):
            warnings.simplefilter("always")
            exec(compile(text, NAME, "exec"), module.__dict__)  # noqa: S102 - running it is the point
    except OnnxwrightError as error:
        return error.diagnostics
    finally:
        _texts.update(set(linecache.cache) - names_before)
        if module_before is None:
            del sys.modules["model"]
        else:
            sys.modules["model"] = module_before
    messages = [warning.message for warning in recorded]
    return tuple(m.diagnostic for m in messages if isinstance(m, OnnxwrightWarning))


@contextlib.contextmanager
def _empty_folder() -> Iterator[None]:
    """Run a program where the files that it writes are in nobody's way."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


@functools.cache
def outcome(text: str) -> tuple[tuple[Message, ...], str]:
    """The messages that a program gets, and as its user sees them; each text is run once.

    Args:
        text: the source of a module.

    Returns:
        What `run_text` gives, and its rendering.
    """
    linecache.cache[NAME] = (len(text), None, text.splitlines(keepends=True), NAME)
    diagnostics = run_text(text)
    return diagnostics, render_all(diagnostics) + "\n"


def message(text: str) -> str:
    """The text a program gets, as its user sees it."""
    return outcome(text)[1]


def rendered(page: Page) -> str:
    """The page as it should be: from the catalogue, and from running its programs.

    A program that this machine cannot run keeps the text it has.
    """
    entry = CATALOGUE[page.code]
    kind = "a warning" if entry.severity == "warning" else f"raised as `{entry.error.__name__}`"
    head = [f"# {page.code}: {entry.__name__}", "", inspect.cleandoc(entry.__doc__ or ""), ""]
    shown, *others = [_rendered_case(case) for case in page.cases]
    parts = [*head, f"It is {kind}.", "", f"## {SHOWN}", "", shown]
    parts += [f"## {MENDED}", "", _fenced("python", page.mended)]
    if others:
        parts += [f"## {OTHERS}", "", *others]
    return "\n".join(parts)


def _rendered_case(case: Case) -> str:
    text = case.golden if case.missing else message(case.text)
    return _fenced("python", case.text) + "\n" + _fenced("text", text)


def _fenced(kind: str, text: str) -> str:
    return f"```{kind}\n" + text.rstrip("\n") + "\n```\n"


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Check or rewrite the pages; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.golden")
    parser.add_argument("--accept", action="store_true", help="write what is found")
    parser.add_argument("codes", nargs="*", help="the codes of the pages; all if none is given")
    options = parser.parse_args(arguments)
    load_catalogue()
    for case in cases():
        if case.missing:
            print(f"not run: program {case.number} of {case.code} needs {case.missing}")
    chosen = [page for page in pages() if not options.codes or page.code in options.codes]
    expected = {page.path: rendered(page) for page in chosen} | {PAGES / "index.md": index()}
    stale = [
        path
        for path, text in expected.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        print(("wrote " if options.accept else "differs: ") + str(path.relative_to(ROOT)))
        if options.accept:
            path.write_text(expected[path], encoding="utf-8")
    return 1 if stale and not options.accept else 0


if __name__ == "__main__":
    sys.exit(main())
