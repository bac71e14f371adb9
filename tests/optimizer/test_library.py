"""Each rule of the library proves itself: its pattern as a model, with and without replacement."""

from __future__ import annotations

import pytest

from onnxwright.optimizer import Rule, library
from onnxwright.testing import prove


@pytest.mark.share(4)
@pytest.mark.parametrize("rule", library.rules(), ids=lambda r: r.name)
def test_rule(rule: Rule) -> None:
    prove(rule, tries=max(16, len(rule.patterns)))


@pytest.mark.slow
@pytest.mark.parametrize("rule", library.rules(), ids=lambda r: r.name)
def test_rule_at_length(rule: Rule) -> None:
    prove(rule, tries=200, seed=1)


def test_every_rule_says_what_it_does() -> None:
    assert not [r.name for r in library.rules() if not r.doc]
