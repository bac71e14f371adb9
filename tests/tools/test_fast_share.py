"""The quick loop: files whose tests take long are listed, and the list is of files that exist."""

from __future__ import annotations

from tools import fast_share


def test_files_that_take_long_are_left_out() -> None:
    times = {"tests/tools/test_fast_share.py": 0.5, "tests/tools/test_report.py": 42.0}
    assert fast_share.left_out(times, 10) == ["tests/tools/test_report.py"]


def test_the_list_is_of_files_that_exist() -> None:
    listed = fast_share.LIST.read_text(encoding="utf-8").split()
    assert 20 < len(listed) < 200
    assert listed == sorted(set(listed))
    assert [path for path in listed if not (fast_share.ROOT / path).exists()] == []
