"""The quick loop: files whose tests take long are listed, and the list is of files that exist."""

from __future__ import annotations

from pathlib import Path

from tools import fast_share

REPORT = """<testsuites><testsuite>
<testcase classname="tests.tools.test_fast_share" name="a" time="0.5"/>
<testcase classname="tests.tools.test_report.TestIt" name="b" time="40"/>
<testcase classname="tests.tools.test_report" name="c" time="2"/>
<testcase classname="gone.test_gone" name="d" time="2"/>
</testsuite></testsuites>"""


def test_files_that_take_long_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "times.xml"
    file.write_text(REPORT, encoding="utf-8")
    times = fast_share.seconds_of(file)
    assert times == {"tests/tools/test_fast_share.py": 0.5, "tests/tools/test_report.py": 42}
    assert fast_share.left_out(times, 10) == ["tests/tools/test_report.py"]


def test_the_list_is_of_files_that_exist() -> None:
    listed = fast_share.LIST.read_text(encoding="utf-8").split()
    assert 20 < len(listed) < 200
    assert listed == sorted(set(listed))
    assert [path for path in listed if not (fast_share.ROOT / path).exists()] == []
