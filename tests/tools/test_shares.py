"""The shares of tables: one case in n, and after n runs with another K all of them."""

from __future__ import annotations

import pytest

from tests.harness.shares import left_out


@pytest.mark.parametrize("n", [1, 2, 5])
def test_all_cases_run_in_n_runs(n: int) -> None:
    cases = [(table, n) for table in ("a", "b", "a", "a", "b") * 3]
    runs = [left_out(cases, first) for first in range(n)]
    taken = [sum(not left for left in case) for case in zip(*runs)]
    assert taken == [1] * len(cases)
    assert left_out(cases, n) == runs[0]


def test_tables_count_by_themselves() -> None:
    assert left_out([("a", 2), ("b", 2), ("b", 2), ("a", 2)]) == [False, False, True, True]
