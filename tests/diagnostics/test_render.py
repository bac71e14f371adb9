"""How a diagnostic becomes text: carets in place, labels sorted, help filled or dropped."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import traceback
from typing import ClassVar

import pytest

from onnxwright.diagnostics.diagnostic import Diagnostic, Label, Sink, fail, located, warn
from onnxwright.diagnostics.render import render, render_all, render_json
from onnxwright.diagnostics.span import Span, register_source
from onnxwright.errors import (
    OnnxwrightWarning,
    ScriptError,
    ScriptNameError,
    ScriptSyntaxError,
)
from tests.harness.tables import each

SOURCE = """\









    if op.ReduceSum(x) > 0:
        y = op.Abs(
            x
        )
    return y
"""


class Unset(Diagnostic):
    """A message of the tests."""

    title: ClassVar[str] = "`{name}` may have no value here"
    label: ClassVar[str] = "read here"
    help: ClassVar[str] = "give `{name}` a value\ndid you mean `{suggestion}`?"
    error: ClassVar[type[ScriptError]] = ScriptNameError

    name: str = "y"
    suggestion: str | None = None


@pytest.fixture(autouse=True)
def _source() -> None:
    register_source("model.py", SOURCE)


def shown(text: str, span: Span, **facts: object) -> list[str]:
    """The snippet of a message about `text`, a file of its own."""
    register_source("t.py", text)
    return render(Unset(span=span, **facts)).split("\n")[2:-1]  # type: ignore[arg-type]


def test_design_example_has_its_exact_form() -> None:
    """The picture in the design is what comes out."""
    label = Label(Span("model.py", 10, 7, 10, 26), "assigned only when this is true")
    assert (
        render(Unset(span=Span("model.py", 14, 11, 14, 12), labels=(label,)))
        == """\
error: `y` may have no value here
  --> model.py:14:12
   |
10 |     if op.ReduceSum(x) > 0:
   |        ------------------- assigned only when this is true
14 |     return y
   |            ^ read here
   = help: give `y` a value"""
    )


def test_labels_on_the_line_of_the_span_come_in_order_of_column() -> None:
    """Each underline has a row of its own, the leftmost first."""
    register_source("t.py", "z = x + y\n")
    labels = (Label(Span("t.py", 1, 8, 1, 9), "right"), Label(Span("t.py", 1, 0, 1, 1), "left"))
    text = render(Unset(span=Span("t.py", 1, 4, 1, 5), labels=labels))
    assert text.split("\n")[3:7] == [
        "1 | z = x + y",
        "  | - left",
        "  |     ^ read here",
        "  |         - right",
    ]


@each(
    ("line", "col", "expected"),
    [
        ("é = x; z = é + nope", 15, "  |                ^^^^ read here"),
        ("値 = 値 + nope", 8, "  |           ^^^^ read here"),
        ("\tx = nope", 5, "  |         ^^^^ read here"),
        ("e\u0301 = nope", 5, "  |     ^^^^ read here"),
        ("x = '\x1b[31m' + nope", 14, "  |               ^^^^ read here"),
    ],
)
def test_carets_stand_under_the_characters(line: str, col: int, expected: str) -> None:
    """Columns count characters; carets count cells."""
    rows = shown(line + "\n", Span("t.py", 1, col, 1, col + 4))
    assert rows[-1] == expected
    assert "\x1b" not in "".join(rows)


def test_wide_characters_get_two_carets() -> None:
    """An underlined wide name is underlined to its end."""
    assert shown("値 = 1\n", Span("t.py", 1, 0, 1, 1))[-1] == "  | ^^ read here"


def test_a_span_over_lines_underlines_each() -> None:
    """The words stand beside the last line."""
    assert shown(SOURCE, Span("t.py", 11, 12, 13, 9)) == [
        "   |",
        "11 |         y = op.Abs(",
        "   |             ^^^^^^^",
        "12 |             x",
        "   |             ^",
        "13 |         )",
        "   |         ^ read here",
    ]


def test_a_long_span_shows_its_two_ends() -> None:
    """A whole function is not printed."""
    text = "f(\n" + "  a,\n" * 50 + ")\n"
    assert shown(text, Span("t.py", 1, 0, 52, 1)) == [
        "   |",
        " 1 | f(",
        "   | ^^",
        "52 | )",
        "   | ^ read here",
    ]


def test_an_empty_span_has_one_caret() -> None:
    """Something is always pointed at."""
    assert shown("x = \n", Span("t.py", 1, 4, 1, 4))[-1] == "  |     ^ read here"


def test_without_source_the_place_is_still_named() -> None:
    """A file that is gone costs the snippet only."""
    assert (
        render(Unset(span=Span("gone.py", 3, 4, 3, 5)))
        == """\
error: `y` may have no value here
 --> gone.py:3:5
  = read here
  = help: give `y` a value"""
    )


def test_without_a_span_there_is_no_place() -> None:
    """Title, notes and help remain; further lines stand under the first."""
    assert (
        render(Unset(notes=("one\ntwo",)))
        == """\
error: `y` may have no value here
   = note: one
           two
   = help: give `y` a value"""
    )


def test_a_label_in_another_file_has_its_own_block() -> None:
    """Two files, two arrows."""
    register_source("other.py", "def f(y):\n")
    label = Label(Span("other.py", 1, 6, 1, 7), "defined here")
    text = render(Unset(span=Span("model.py", 14, 11, 14, 12), labels=(label,)))
    assert "  --> other.py:1:7\n   |\n 1 | def f(y):\n   |       - defined here" in text


def test_a_help_line_with_an_empty_fact_is_dropped() -> None:
    """`suggestion` is a line of its own, and optional."""
    assert "did you mean" not in render(Unset())
    assert render(Unset(suggestion="x")).endswith(
        "= help: give `y` a value\n           did you mean `x`?"
    )


def test_colour_only_adds_escapes() -> None:
    """Without the escapes the text is the plain one."""
    label = Label(Span("model.py", 10, 7, 10, 26), "set here")
    diagnostic = Unset(span=Span("model.py", 14, 11, 14, 12), labels=(label,))
    coloured = render(diagnostic, color=True)
    for code in ("1;31", "1;34", "1;36", "1", "0"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured == render(diagnostic)


def test_json_has_the_facts_of_place_and_words() -> None:
    """One object a line, characters as they are."""
    data = json.loads(render_json(Unset(name="é", span=Span("model.py", 14, 11, 14, 12))))
    assert data["title"] == "`é` may have no value here"
    assert data["span"] == {
        "file": "model.py",
        "line": 14,
        "col": 11,
        "end_line": 14,
        "end_col": 12,
    }


def test_the_environment_asks_for_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Editors set one variable; `str(error)` follows."""
    monkeypatch.setenv("OW_DIAGNOSTICS", "json")
    lines = str(ScriptNameError(Unset(), Unset(name="z"))).split("\n")
    assert [json.loads(line)["title"][:3] for line in lines] == ["`y`", "`z`"]


def test_all_messages_come_with_an_empty_line_between() -> None:
    """Errors of one function are one text."""
    text = render_all([Unset(), Unset(name="z")])
    assert text.count("\n\n") == 1


def test_str_of_every_error_is_the_rendering() -> None:
    """Also where Python's own class would print something else."""
    for error in (ScriptNameError, ScriptSyntaxError, ScriptError):
        raised = error(Unset())
        assert str(raised) == render(Unset())
        assert render(Unset()) in "".join(traceback.format_exception(raised))


def test_an_uncaught_syntax_error_prints_the_rendering() -> None:
    """The interpreter prints a `SyntaxError` by its own rules; the words survive them."""
    code = (
        "from onnxwright.diagnostics.diagnostic import Diagnostic\n"
        "from onnxwright.errors import ScriptSyntaxError\n"
        "raise ScriptSyntaxError(Diagnostic(notes=('a word',)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "= note: a word" in done.stderr


def test_errors_pickle_and_copy() -> None:
    """A process pool can hand them over."""
    error = ScriptNameError(Unset(span=Span("model.py", 14, 11, 14, 12)))
    for twin in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(twin) is ScriptNameError
        assert str(twin) == str(error)


def test_located_adds_a_place_once() -> None:
    """The innermost place wins."""
    inner, outer = Span("model.py", 10, 7, 10, 8), Span("model.py", 14, 0, 14, 1)
    with pytest.raises(ScriptNameError) as caught, located(outer), located(inner):
        fail(Unset())
    assert caught.value.diagnostic.span == inner


def test_sink_raises_everything_in_order() -> None:
    """Each message once, sorted by place."""
    sink = Sink()
    late, early = Unset(span=Span("m", 9, 0, 9, 1)), Unset(span=Span("m", 2, 0, 2, 1))
    for one in (late, early, late):
        sink.add(one)
    with pytest.raises(ScriptNameError) as caught:
        sink.raise_if_any()
    assert caught.value.diagnostics == (early, late)


def test_a_warning_has_the_place_as_its_own() -> None:
    """`python -W` filters and pytest see the user's file."""
    with pytest.warns(OnnxwrightWarning, match="may have no value") as seen:
        warn(Unset(span=Span("model.py", 14, 11, 14, 12)))
    assert (seen[0].filename, seen[0].lineno) == ("model.py", 14)


def test_a_code_belongs_to_one_class() -> None:
    """Two classes with one code are a bug of ours."""
    from onnxwright.diagnostics.diagnostic import CATALOGUE

    class First(Diagnostic):
        code = "OW000"

    try:
        with pytest.raises(AssertionError, match="OW000"):

            class Second(Diagnostic):
                code = "OW000"
    finally:
        assert CATALOGUE.pop("OW000") is First
