"""Every node test of onnx, converted up and down, computes the same."""

from __future__ import annotations

import pytest

from tests.versions import backend_cases


def run(cases, targets):
    total = backend_cases.Result()
    for case in cases:
        result = backend_cases.check(case, targets)
        total.counts += result.counts
        total.wrong += result.wrong
    assert total.wrong == []
    return total.counts


def test_a_share_of_the_cases():
    cases = backend_cases.load()[::24]
    counts = run(cases, (9, 13, 18, 23))
    assert counts["up equal"] > 60
    assert counts["down equal"] > len(cases)


@pytest.mark.slow
@pytest.mark.parametrize("target", backend_cases.TARGETS)
def test_all_cases(target):
    counts = run(backend_cases.load(), (target,))
    equal = counts["up equal"] + counts["down equal"] + counts["same equal"]
    assert equal > (650 if target == 7 else 700)  # fewer operators have a meaning in opset 7
