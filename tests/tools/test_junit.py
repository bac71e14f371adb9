"""A JUnit file of pytest is read: times, the longest tests, skipped tests with their reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import report
from tools.junit import Case, read_cases, seconds_by_file

REPORT = """<testsuites><testsuite>
<testcase classname="tests.tools.test_junit" name="a[x]" time="0.5"/>
<testcase classname="tests.tools.test_report.TestIt" name="b" time="40"/>
<testcase classname="tests.tools.test_report" name="c" time="0.2"><skipped message="no GPU">
</skipped></testcase>
<testcase classname="" name="tests.tools.test_report" time="0"><skipped
message="collection skipped">('/root/test_report.py', 15, 'Skipped: it needs peers')</skipped>
</testcase>
<testcase classname="gone.test_gone" name="d" time="2"/>
</testsuite></testsuites>"""
HERE, OTHER = "tests/tools/test_junit.py", "tests/tools/test_report.py"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "times.xml"
    path.write_text(REPORT, encoding="utf-8")
    return path


def test_the_tests_of_a_run_are_read(file: Path) -> None:
    assert read_cases(file) == [
        Case(HERE, f"{HERE}::a[x]", 0.5),
        Case(OTHER, f"{OTHER}::TestIt::b", 40.0),
        Case(OTHER, f"{OTHER}::c", 0.2, "no GPU"),
        Case(OTHER, OTHER, 0.0, "it needs peers"),
        Case("", "gone.test_gone::d", 2.0),
    ]


def test_times_are_summed_by_file(file: Path) -> None:
    assert seconds_by_file(read_cases(file)) == {HERE: 0.5, OTHER: 40.2}


def test_the_report_lists_the_longest_and_every_skip(file: Path, capsys) -> None:
    assert report.main(["--junit", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "5 tests, 42.7 s"
    assert lines[2] == f"    40.0 s  {OTHER}::TestIt::b"
    assert lines[-3:] == [
        "skipped: 2",
        f"      1  {OTHER}: no GPU",
        f"      1  {OTHER}: it needs peers",
    ]
