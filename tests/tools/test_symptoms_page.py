"""The page that groups error codes by symptom has every code once, and is current."""

from __future__ import annotations

from collections import Counter

import pytest

from onnxwright.diagnostics.explain import codes, search
from tools import symptoms_page


def test_each_code_is_in_one_group() -> None:
    counts = Counter(
        code
        for ranges in symptoms_page.SYMPTOMS.values()
        for code in symptoms_page.codes_of(ranges)
    )
    assert sorted(counts) == codes()
    assert {code for code, count in counts.items() if count > 1} == set()


def test_the_page_is_current() -> None:
    assert symptoms_page.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("name `scale` is not defined", "OW201"),
        ("running the module changes `count` from 0 to 1", "OW839"),
        ("INT64 and FLOAT cannot be added: two element types", "OW401"),
        ("the file with the tensor's data is missing", "OW743"),
    ],
)
def test_words_of_a_message_find_its_code(message: str, code: str) -> None:
    assert code in search(message)[:3]


def test_no_word_finds_nothing() -> None:
    assert search("") == []
    assert search("qqqq zzzz") == []
