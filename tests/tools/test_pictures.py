"""Pictures of the docs: those that the gallery shows are those that are made."""

from __future__ import annotations

import re
from pathlib import Path

from tools.coverage_page import table

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_picture_is_shown_and_small() -> None:
    shown = set(re.findall(r"\(pictures/([^)]+)\)", (DOCS / "gallery.md").read_text()))
    there = {path.name: path.stat().st_size for path in (DOCS / "pictures").iterdir()}
    assert shown == set(there)
    assert max(there.values()) < 200_000


def test_the_table_counts_what_is_registered() -> None:
    ours = ["aten::a", "aten::b", "prims::c"]
    assert table(ours, ["aten::b", "aten::d"], ["aten::b", "aten::d"]) == [
        "| core ATen, of 2 that compute a value | 1 | 2 |",
        "| all of ATen, overloads | 2 | 2 |",
        "| prims | 1 | 0 |",
    ]
