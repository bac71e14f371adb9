"""The table of what exports make of all programs."""

from __future__ import annotations

import pytest

from tests.exporter import exam


def test_the_table_counts_outcomes(capsys: pytest.CaptureFixture[str]) -> None:
    assert exam.main(["--only", "counter"]) == 0
    heads, state, values = capsys.readouterr().out.splitlines()
    assert heads.split()[2:] == [*exam.OUTCOMES, "changed", "captures", "seconds"]
    kinds = dict(zip(exam.OUTCOMES, map(int, state.split()[1:]), strict=False))
    assert kinds["reported"] >= 1
    assert kinds["wrong"] == 0
    assert values.startswith("values ")
