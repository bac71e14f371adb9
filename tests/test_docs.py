"""What the README and the guide show is true: their code runs, and prints what they say it prints.

A page is read from top to bottom; its ```python blocks share one namespace.  A ```text block right
after one is what that block prints.  A block marked ```python raises raises an error, and the
```text block after it is the error's text.  `...` in shown output stands for anything, and a time
such as `12us` for any time.  A block marked ```python torch is left out where there is no torch,
and so is a whole page that imports it without such a mark.  A block is in a file `example.py`, or
the one named after `python`.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.tables import each

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
HOW_TO = sorted((ROOT / "docs" / "howto").glob("*.md"))
PAGES = [README, ROOT / "docs" / "index.md", *GUIDE, *HOW_TO]

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
TIME = re.compile(r"\b\d+(\.\d+)?(us|ms|s)\b")
CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS
HAS_TORCH = importlib.util.find_spec("torch") is not None


@dataclass
class Block:
    """A ```python block, the file it stands in, and the output shown under it."""

    line: int
    code: str
    raises: bool
    output: str | None
    file: str
    torch: bool = False


def blocks_of(text: str) -> list[Block]:
    """The python blocks of a page, each with the text block that follows it directly."""
    fences = list(FENCE.finditer(text))
    found = []
    for number, fence in enumerate(fences):
        info = fence["info"].split()
        if not info or info[0] != "python":
            continue
        output = None
        if number + 1 < len(fences):
            following = fences[number + 1]
            between = text[fence.end() : following.start()]
            if following["info"].strip() == "text" and not between.strip():
                output = following["body"]
        line = text.count("\n", 0, fence.start()) + 1
        file = next((word for word in info if word.endswith(".py")), "example.py")
        found.append(Block(line, fence["body"], "raises" in info, output, file, "torch" in info))
    return found


def run_page(page: Path, text: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in order; each with what it printed or the error's text."""
    module = types.ModuleType(f"page_{page.stem.replace('-', '_')}")
    sys.modules[module.__name__] = module
    try:
        for number, block in enumerate(blocks_of(text)):
            if block.torch and not HAS_TORCH:
                continue
            # Each block is a file of its own, so that a message points at a line of the block.
            path = folder / str(number) / block.file
            path.parent.mkdir()
            path.write_text(block.code, encoding="utf-8")
            module.__dict__["__file__"] = str(path)
            printed = io.StringIO()
            error = None
            with contextlib.redirect_stdout(printed):
                try:
                    exec(compile(block.code, str(path), "exec"), module.__dict__)
                except Exception as caught:
                    if not block.raises:
                        where = f"{page.name}, block of line {block.line}"
                        raise AssertionError(f"{where} raises {caught}") from caught
                    error = caught
            shown = printed.getvalue()
            if block.raises:
                assert error is not None, f"{page.name}:{block.line} should raise"
                shown += f"{error}\n"
            yield block, re.sub(rf"{re.escape(str(folder))}/\d+/", "", shown)
    finally:
        del sys.modules[module.__name__]


def agrees(wanted: str, shown: str) -> bool:
    """Whether a page shows what its code printed, measured times aside."""
    if TIME.search(wanted):
        wanted, shown = (re.sub(" +", " ", TIME.sub("1us", text)) for text in (wanted, shown))
    return CHECKER.check_output(wanted, shown, FLAGS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_page_is_true(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of a page runs and prints what the page shows."""
    text = page.read_text(encoding="utf-8")
    if "\nimport torch\n" in text and "```python torch" not in text and not HAS_TORCH:
        pytest.skip(f"{page.name} needs torch, which is not installed")
    monkeypatch.chdir(tmp_path)
    for block, shown in run_page(page, text, tmp_path):
        where = f"{page.relative_to(ROOT)}, block of line {block.line}"
        wanted = block.output
        if wanted is None:
            assert not shown, f"{where} prints, and the page does not show it:\n{shown}"
        elif not agrees(wanted, shown):
            pytest.fail(f"{where} prints\n{shown}\nand the page shows\n{wanted}")


@each("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    """A relative link of a page names a file that exists."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for match in LINK.finditer(text):
        target = match["target"].split("#")[0]
        if target and "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {match['target']}"


def test_first_example_of_the_readme_is_the_example_file() -> None:
    """README and examples/first_model.py show the same program."""
    first = blocks_of(README.read_text(encoding="utf-8"))[0].code
    example = (ROOT / "examples" / "first_model.py").read_text(encoding="utf-8")
    assert example.split('"""\n', 1)[1].strip() == first.strip()


def commands_of_readme() -> list[str]:
    """The lines of the README's shell blocks, one command each."""
    text = README.read_text(encoding="utf-8")
    blocks = [fence["body"] for fence in FENCE.finditer(text) if fence["info"].strip() == "bash"]
    return [line for block in blocks for line in block.strip().splitlines()]


def test_ci_runs_the_commands_of_the_readme() -> None:
    """Both set-up commands are run by .ci/run, in environments of its own."""
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    commands = commands_of_readme()
    assert len(commands) == 2
    for command in commands:
        for part in command.split(" && ")[1:]:
            _, _, rest = part.partition(".venv/bin/python ")
            assert rest, part
            assert rest.replace("install ", "install --quiet ") in ci, rest


def test_every_guide_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in GUIDE:
        assert f"guide/{page.name}" in index


def test_every_how_to_is_in_its_index() -> None:
    index = (ROOT / "docs" / "howto" / "index.md").read_text(encoding="utf-8")
    for page in HOW_TO:
        assert page.name == "index.md" or f"]({page.name})" in index


def test_a_time_stands_for_any_time() -> None:
    """A table with times in it is compared all the same."""
    assert agrees("a   time\n1   12us\n", "a  time\n1  4.5s\n")
    assert not agrees("a   time\n1   12us\n", "a  time\n2  4.5s\n")


def test_the_runner_notices_a_false_page(tmp_path: Path) -> None:
    """The check of this file has a check."""
    text = "```python\nprint(1)\n```\n\n```text\n2\n```\n\n```python raises\n1 / 0\n```\n"
    results = list(run_page(Path("page.md"), text, tmp_path))
    assert [(block.output, shown) for block, shown in results] == [
        ("2\n", "1\n"),
        (None, "division by zero\n"),
    ]
    (tmp_path / "again").mkdir()
    with pytest.raises(AssertionError, match="should raise"):
        list(run_page(Path("page.md"), "```python raises\nx = 1\n```\n", tmp_path / "again"))
