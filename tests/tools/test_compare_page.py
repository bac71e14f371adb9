"""The programs of this library on the page that compares it with others print what is shown."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from tools import compare_names, compare_page
from tools.compare_cases import PEERS, Case

PAGE = compare_page.PAGE.read_text(encoding="utf-8")
CASES = [(peer.name, case) for peer in PEERS for case in peer.cases]


@pytest.mark.parametrize(("peer", "case"), CASES, ids=[f"{p}: {c.title}" for p, c in CASES])
def test_what_the_page_shows_is_printed(peer: str, case: Case, tmp_path: Path) -> None:
    if "import torch" in case.ours:
        pytest.importorskip("torch", reason="the program exports a PyTorch module")
    section = PAGE[PAGE.index(f"\n## {peer}") :]
    shown = re.search(
        re.escape(f"```py\n{case.ours}\n```\n\n```\n") + r"(.*?)\n```", section, re.DOTALL
    )
    assert shown is not None, "run `python -m tools.compare_page`"
    assert _outcome(case.ours, tmp_path) == shown[1]
    assert f"```py\n{case.theirs}\n```" in section


def _outcome(program: str, folder: Path) -> str:
    """As `compare_page.outcome`, in this process."""
    file = folder / "program.py"
    file.write_text(program + "\n", encoding="utf-8")
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(
                compile(file.read_text(encoding="utf-8"), str(file), "exec"),
                {"__name__": "program"},
            )
    except Exception as error:  # noqa: BLE001 - the page shows how a program ends
        first = str(error).splitlines()[0]
        return f"{type(error).__name__}: {first}"
    return "\n".join(out.getvalue().strip().splitlines()[-3:])


def test_the_error_a_traceback_ends_with_is_found() -> None:
    text = "Traceback (most recent call last):\n  File\nonnxwright.errors.ScriptError: no\n  help"
    assert compare_page._error(text) == "ScriptError: no"


def test_every_peer_is_told_where_it_is_better() -> None:
    assert len(PEERS) >= 7
    assert all(len(peer.better) > 40 for peer in PEERS)
    assert all(f"\n## {peer.name}" in PAGE for peer in PEERS)
    assert Path(compare_page.ROOT / "docs" / "index.md").read_text().count("compare.md") >= 2


SLOW = {"Names of torch.onnx": pytest.mark.slow}  # eight exports
TABLES = [
    pytest.param(table, id=table.title, marks=SLOW.get(table.title, ()))
    for table in compare_names.TABLES
]


@pytest.mark.parametrize("table", TABLES)
def test_each_name_gives_what_its_row_shows(table: compare_names.Table, tmp_path: Path) -> None:
    if "import torch" in table.program:
        pytest.importorskip("torch", reason="the rows export PyTorch modules")
    shown = PAGE[PAGE.index(compare_names.START) : PAGE.index(compare_names.END)]
    assert f"```py\n{table.program}\n```" in shown
    lines = [
        f"| {row.there} | {row.here} | `{row.run}` | `{given}` |"
        for row, given in compare_names.results(table, tmp_path)
    ]
    lacking = [line for line in lines if line not in shown]
    assert not lacking, "run `python -m tools.compare_page --names`"
    assert shown.count("\n| ") == sum(len(one.rows) + 1 for one in compare_names.TABLES)
