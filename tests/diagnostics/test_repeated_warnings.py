"""The text of a warning is made once for a place, and again when its source lines change."""

from __future__ import annotations

import linecache
import warnings
from typing import ClassVar

import pytest

from onnxwright.diagnostics import render as rendering
from onnxwright.diagnostics.diagnostic import Diagnostic, warn
from onnxwright.diagnostics.span import Span
from onnxwright.errors import OnnxwrightWarning

_FILE = "<a repeated warning>"


class _Noted(Diagnostic):
    title: ClassVar[str] = "noted {what}"
    severity: ClassVar[str] = "warning"
    what: object = ""


def _source(text: str) -> None:
    linecache.cache[_FILE] = (len(text), None, text.splitlines(keepends=True), _FILE)


def _message(what: object = "this") -> _Noted:
    return _Noted(span=Span(_FILE, 1, 0, 1, 3), what=what)


def test_the_text_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Diagnostic] = []
    render = rendering.render

    def counted(diagnostic: Diagnostic) -> str:
        made.append(diagnostic)
        return render(diagnostic)

    monkeypatch.setattr(rendering, "render", counted)
    monkeypatch.setattr(rendering, "_texts", {})
    _source("one\n")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(5):
            warn(_message())
    assert len(seen) == 5  # the filter asks for each of them
    assert [str(w.message).splitlines()[0] for w in seen] == ["warning: noted this"] * 5
    assert len(made) == 1


def test_a_changed_source_line_makes_another_text() -> None:
    _source("one\n")
    before = str(OnnxwrightWarning(_message()))
    _source("two\n")
    after = str(OnnxwrightWarning(_message()))
    assert "one" in before
    assert "two" in after


def test_a_message_whose_facts_have_no_hash_has_a_text() -> None:
    assert "noted ['x']" in str(OnnxwrightWarning(_message(["x"])))
