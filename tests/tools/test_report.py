"""The report of the source: its parts on small trees, and no table of operators in this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import report
from tools.report import AnyShare, Source, any_shares, operator_tables, read_sources, tables_of


def source(text: str, path: str = "builder/a.py") -> Source:
    return Source(path, text)


FOUR = '"Add", "Sub", "Mul", "Div"'
TABLES = {
    "a set": f"X = {{{FOUR}}}\n",
    "a frozenset": f"X = frozenset(({FOUR}))\n",
    "a list": f"X = [{FOUR}]\n",
    "a tuple with others": f'X = ({FOUR}, "mine")\n',
    "keys of a dict": 'X = {"Add": 1, "Sub": 2, "Mul": 3, "Div": 4}\n',
    "an annotated name": f"X: tuple[str, ...] = ({FOUR})\n",
    "a string that is split": 'X = "Add Sub Mul Div".split()\n',
    "inside a function": f"def X():\n    return 1 in ({FOUR})\n",
    "inside a class": f"class X:\n    y = [{FOUR}]\n",
}
OTHERS = {
    "three of them": 'X = {"Add", "Sub", "Mul"}\n',
    "other words": 'X = ("add", "sub", "mul", "div")\n',
    "values of a dict": 'X = {"a": "Add", "b": "Sub", "c": "Mul", "d": "Div"}\n',
    "prose": '"""Add, Sub, Mul and Div are operators."""\n',
    "prose without commas": 'X = "Max of Min and Sum or Mean"\n',
}


@pytest.mark.parametrize("what", TABLES)
def test_a_table_is_found(what: str) -> None:
    tables, _ = operator_tables([source(TABLES[what])], {})
    (table,) = tables
    assert table.names == ("Add", "Sub", "Mul", "Div")
    assert table.holder == "X"
    assert str(table).startswith("builder/a.py:")


@pytest.mark.parametrize("what", OTHERS)
def test_others_are_none(what: str) -> None:
    assert operator_tables([source(OTHERS[what])], {}) == ([], [])


def test_operators_may_have_tables() -> None:
    assert operator_tables([source(TABLES["a set"], "operators/a.py")], {}) == ([], [])


def test_exceptions_hold_and_go_stale() -> None:
    one = source(TABLES["a set"])
    assert operator_tables([one], {("builder/a.py", "X"): "a reason"}) == ([], [])
    _, stale = operator_tables([one], {("builder/b.py", "X"): "a reason"})
    assert stale == ["builder/b.py: X: is not there"]


def test_nested_tables_are_one() -> None:
    text = f"X = [({FOUR}), ({FOUR})]\n"
    assert len(list(tables_of(source(text), {"Add", "Sub", "Mul", "Div"}.__contains__))) == 2


def test_shares_of_any() -> None:
    text = (
        "def f(a: Any, b: int, *c: Any | None, d: Optional[Any] = None, e=1, **g: list[Any]): ...\n"
        "@aten('aten::x')\n"
        "def g(op: Op, self: typing.Any): ...\n"
    )
    assert any_shares([source(text)]) == [
        AnyShare("atenlib (bodies)", 2, 1),
        AnyShare("builder", 5, 3),
    ]
    assert AnyShare("x", 4, 1).percent == 25
    assert AnyShare("x", 0, 0).percent == 0


def test_sizes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.py").write_text("def f():\n    pass\n\n\ny = 2\n", encoding="utf-8")
    assert report.size_lines(read_sources(tmp_path)) == [
        "files             2",
        "median lines      3",
        "longest file      b/c.py: 5 lines",
        "longest function  b/c.py:1: f: 2 lines",
    ]


def test_this_package_has_no_table_of_operators_elsewhere() -> None:
    tables, stale = operator_tables(read_sources(report.ROOT / report.PACKAGE))
    advice = (
        "a fact of operators is a field of `OperatorFacts` in onnxwright/operators/, which"
        " `facts(name)` and `all_facts()` give; a table of another kind is listed with its reason"
        " in `ALLOWED_TABLES` of tools/report.py:\n"
    )
    assert not tables, advice + "\n".join(map(str, tables))
    assert not stale
    assert all(report.ALLOWED_TABLES.values())


def test_the_command_prints_it_all(capsys, monkeypatch) -> None:
    small = source("@aten('aten::x')\ndef g(op: Op, self: Any): ...\n")
    monkeypatch.setattr(report, "read_sources", lambda _: (small,))
    monkeypatch.setattr(report, "ALLOWED_TABLES", {})
    assert report.main([]) == 0
    text = capsys.readouterr().out
    for part in ("files ", "median lines", "atenlib (bodies)", "tables of operator names"):
        assert part in text
