"""Every error page: the exact text of its bad programs, its description, the program mended."""

from __future__ import annotations

import os
import re
import string
import sys
from pathlib import Path

import pytest

from onnxwright.diagnostics.catalogue import load_catalogue
from onnxwright.diagnostics.diagnostic import CATALOGUE
from onnxwright.diagnostics.explain import codes, explain
from onnxwright.diagnostics.span import source_line
from tests.harness import golden
from tests.harness.oldest import limit_of
from tests.harness.tables import check_rows

load_catalogue()
CASES = golden.cases()

# Messages that no program of a user can get, with the reason; the list only shrinks.
WITHOUT_PROGRAM: dict[str, str] = {
    "OW106": "Python refuses `break` outside a loop before a script is made of it",
    "OW901": "a bug of ours; the mutation tests look for programs that have it",
}

# Files that are not the program's: the message is about a text of another name.
OTHER_FILES = {
    "OW202": "<string>", "OW203": "changed.py", "OW889": "site-packages/library.py",
}  # fmt: skip


def _id(case: golden.Case) -> str:
    return f"{case.code}_{case.number}"


def _need(case: golden.Case) -> None:
    if _lacks(case):
        pytest.skip(_lacks(case))


def _lacks(case: golden.Case) -> str:
    """Why a program has no message here, or another one; empty where it is run."""
    if case.missing:
        return f"{_id(case)} needs {case.missing}, which is not installed"
    if _has_other_places(case.code):
        return "Python 3.13 names what a `for` or `with` calls, earlier ones the statement"
    return ""


def _has_other_places(name: str) -> bool:
    return sys.version_info >= (3, 13) and name.startswith(("OW603", "OW615"))


def comparable(text: str) -> str:
    """A text without columns where Python does not know those of calls (3.10)."""
    if sys.version_info >= (3, 11):
        return text
    text = re.sub(r"( +--> .*:\d+):\d+$", r"\1", text, flags=re.MULTILINE)
    return re.sub(r"^( +\|) +\^+", r"\1 ^", text, flags=re.MULTILINE)


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_a_bad_program_gets_exactly_this_text(case: golden.Case) -> None:
    """`python -m tests.harness.golden --accept` writes what is found."""
    _need(case)
    assert comparable(golden.message(case.text)) == comparable(case.golden)
    _points_at_the_program(case)


def _points_at_the_program(case: golden.Case) -> None:
    """The code is the file's, the place exists, and no file of ours is named."""
    diagnostics, _ = golden.outcome(case.text)
    if case.code in OTHER_FILES:
        diagnostics = golden.run_text(
            case.text
        )  # their lines are known until the next program runs
    lines = case.text.splitlines()
    assert case.code in [d.code for d in diagnostics]
    for diagnostic in diagnostics:
        assert diagnostic.span is not None
        file = diagnostic.span.file
        assert file in (golden.NAME, OTHER_FILES.get(case.code))
        number = diagnostic.span.line
        line = lines[number - 1] if file == golden.NAME else source_line(file, number)
        assert line is not None
        assert diagnostic.span.col < len(line)
    assert "onnxwright/" not in case.golden
    assert "None" not in re.sub(r"`[^`]*`|= help:.*|\d+ \|.*", "", case.golden)


@pytest.mark.parametrize("page", golden.pages(), ids=lambda page: page.code)
def test_the_mended_program_runs_without_a_message(page: golden.Page) -> None:
    _need(page.cases[0])
    assert golden.run_text(page.mended) == ()


def test_a_page_is_what_its_programs_and_the_catalogue_give() -> None:
    def check(page: golden.Page) -> None:
        assert comparable(explain(page.code)) == comparable(golden.rendered(page))

    test = "tests/converter/test_errors.py::test_a_bad_program_gets_exactly_this_text"
    pages = [
        page
        for page in golden.pages()
        if not any(_lacks(case) or limit_of(f"{test}[{_id(case)}]") for case in page.cases)
    ]
    check_rows(pages, check, lambda page: page.code)


def test_each_code_has_a_page() -> None:
    with_page = {page.code for page in golden.pages()}
    assert with_page | set(WITHOUT_PROGRAM) == set(CATALOGUE)
    assert not with_page & set(WITHOUT_PROGRAM), "it has one; take it off the list"


def test_the_list_of_codes_is_current() -> None:
    assert (golden.PAGES / "index.md").read_text(encoding="utf-8") == golden.index()
    others = {path.stem for path in golden.PAGES.glob("*.md")} - set(CATALOGUE)
    assert others == {"index"}


def test_a_page_without_a_program_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "OW302.md"
    page.write_text("# OW302\n\n## A program that has it\n\nNone yet.\n")
    with pytest.raises(ValueError, match=r"OW302\.md needs one Python block"):
        golden.read_page(page)


def test_there_are_enough_codes() -> None:
    assert len(CATALOGUE) >= 40
    assert set(codes()) | set(WITHOUT_PROGRAM) == set(CATALOGUE)


def test_docs_have_the_same_pages(root: Path) -> None:
    """`docs/errors` is a link to the pages that are installed."""
    assert (root / "docs" / "errors").resolve() == golden.PAGES.resolve()


def test_templates_name_facts_only() -> None:
    """A missing fact cannot reach a user."""
    check_rows(sorted(CATALOGUE), _names_facts_only)


def _names_facts_only(code: str) -> None:
    entry = CATALOGUE[code]
    facts = {
        *entry.__dataclass_fields__,
        *(name for name, value in vars(entry).items() if isinstance(value, property)),
    }
    for template in (entry.title, entry.label, entry.help):
        names = {name for _, name, _, _ in string.Formatter().parse(template) if name}
        assert {re.split(r"[.\[]", name)[0] for name in names} <= facts, template
    assert entry.title
    assert entry.__doc__
    assert not entry.__doc__.startswith(entry.__name__ + "("), "no docstring of its own"
    assert re.fullmatch(r"OW[1-9]\d\d", code)
    assert entry.severity in ("error", "warning")


def test_explain_takes_a_code_as_people_write_it() -> None:
    assert explain("ow302") == explain("OW302") == explain("302") == explain("[OW302]")
    with pytest.raises(LookupError, match="OW302"):
        explain("OW3020")


def test_the_command_prints_a_page(run_loaded) -> None:
    done = run_loaded("-m", "onnxwright", "explain", "OW302")
    assert done.stdout == explain("OW302")
    lines = run_loaded("-m", "onnxwright", "explain").stdout.splitlines()
    assert [line.split()[0] for line in lines if line] == codes()
    done = run_loaded("-m", "onnxwright", "explain", "OW999x")
    assert done.returncode == 2
    assert "OW999" in done.stderr


def test_the_command_checks_files(run_loaded, tmp_path: Path) -> None:
    head = "from onnxwright import FLOAT, script\n"
    good = tmp_path / "good.py"
    good.write_text(head + "@script()\ndef f(x: FLOAT['N']):\n    return x + 1\n")
    bad = tmp_path / "bad.py"
    bad.write_text(
        head + "class A:\n    @script()\n    def g(x: FLOAT['N']):\n        return x + nope\n"
        "@script()\ndef h(x: FLOAT['N']):\n    import os\n    return x\n"
    )
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0\n")
    done = run_loaded("-m", "onnxwright", "check", str(good))
    assert (done.returncode, done.stdout) == (0, f"{good}: 1 script, 0 with errors\n")
    done = run_loaded("-m", "onnxwright", "check", str(good), str(bad))
    assert done.returncode == 1
    assert "OW201" in done.stdout
    assert "OW101" in done.stdout
    assert f"{bad}:5:" in done.stdout
    assert "2 scripts, 2 with errors" in done.stdout
    assert "\x1b" not in done.stdout
    done = run_loaded("-m", "onnxwright", "check", str(broken))
    assert done.returncode == 2
    assert "ZeroDivisionError" in done.stderr
    done = run_loaded("-m", "onnxwright", "check", "--color", "always", str(bad))
    assert "\x1b[" in done.stdout
    done = run_loaded(
        "-m", "onnxwright", "check", str(bad), env={**os.environ, "OW_DIAGNOSTICS": "json"}
    )
    assert '"code": "OW201"' in done.stdout
