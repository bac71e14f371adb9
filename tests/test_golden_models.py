"""The bytes of 230 models are those of the table: a refactoring changes no model.

    pytest -m "slow or not slow" tests/test_golden_models.py
    python -m tests.harness.fixed_models --accept    # after a change that is meant

`python -m tests.harness.fixed_models --write FOLDER` on both commits gives the models to compare.
The bytes are the same on every machine; with the oldest dependencies four of `calls` are others.
The default run has one model in ten, so that a table that is out of date is noticed.
"""

from __future__ import annotations

import pytest

from tests.harness import fixed_models


@pytest.mark.share(10)
@pytest.mark.parametrize("name", fixed_models.stored_digests())
def test_a_model_has_the_bytes_of_the_table(name: str) -> None:
    made = fixed_models.makers()[name]
    assert fixed_models.digest(made) == fixed_models.stored_digests()[name]


def test_the_table_lists_the_models() -> None:
    names = fixed_models.stored_digests()
    assert list(names) == list(fixed_models.makers())
    assert len(names) == fixed_models.COUNT == 230


def test_what_differs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"script/0": "a", "script/1": "b", "script/2": "c"}
    monkeypatch.setattr(fixed_models, "stored_digests", lambda: table)
    found = {"script/0": "a", "script/1": "other", "calls/0": "d"}
    assert fixed_models.differences(found) == [
        "calls/0: is new",
        "script/1: differs",
        "script/2: is gone",
    ]
