"""The backend node tests of the installed onnx: traced types and folded values are the expected."""

from __future__ import annotations

import pytest

from tests.builder import backend_cases


def run(cases):
    looked = folded = 0
    wrong = []
    for case in cases:
        outputs, constants, texts = backend_cases.check(case)
        looked, folded, wrong = looked + outputs, folded + constants, wrong + texts
    assert wrong == []
    return looked, folded


def test_a_share_of_the_cases():
    looked, folded = run(backend_cases.load()[::48])
    assert looked > 75
    assert folded > 15


@pytest.mark.slow
def test_all_cases():
    looked, folded = run(backend_cases.load())
    assert looked > 5000
    assert folded > 1000
