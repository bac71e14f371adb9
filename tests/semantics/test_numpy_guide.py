"""The guide has a row for each of numpy's functions and methods, and values have the methods."""

from __future__ import annotations

import inspect
from pathlib import Path

from onnxwright.semantics.array_methods import ArrayMethods
from onnxwright.semantics.numpy_functions.table import ENTRIES, METHODS, Entry

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "numpy.md"


def row(entry: Entry) -> str:
    """The row of the guide for one entry."""
    calls = [f"`x.{entry.name}`"] if entry.is_method else []
    calls += [f"`np.{name}`" for name in entry.functions]
    meaning = (inspect.getdoc(entry.meaning) or "").splitlines()[0].replace("|", "\\|")
    return f"| {', '.join(calls)} | {meaning} |"


def test_each_has_its_row() -> None:
    """The table is what the code says; paste the missing rows where this fails."""
    text = PAGE.read_text()
    missing = [row(entry) for entry in ENTRIES if row(entry) not in text]
    assert not missing, "\n".join(missing)
    assert text.count("\n| `") == len(ENTRIES)


def test_values_have_the_methods_of_the_table() -> None:
    """One table for every mode: what values have as methods is what compiled code knows."""
    own = {
        name
        for name, member in vars(ArrayMethods).items()
        if not name.startswith("_") and inspect.isfunction(member)
    }
    assert own == set(METHODS)
