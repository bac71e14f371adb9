"""A fixed share of the random damage: the same cases on every machine."""

from __future__ import annotations

import pytest

from tests.fuzzing.runs import one


@pytest.mark.parametrize("start", range(0, 120, 30))
@pytest.mark.parametrize("kind", ["models", "bytes"])
def test_damaged_models_end_well(kind: str, start: int) -> None:
    ends = {seed: one(kind, seed) for seed in range(start, start + 30)}
    wrong = {seed: text for seed, (how, text) in ends.items() if how == "WRONG"}
    assert not wrong
    assert {how for how, _ in ends.values()} == {"done", "refused"}, "both ends are reached"


# Cases that once ended wrong.
FOUND = (10661, 10704, 10944, 11049, 20523, 21107, 500802)


@pytest.mark.parametrize("seed", FOUND)
def test_what_ended_wrong_ends_well(seed: int) -> None:
    how, text = one("models", seed)
    assert how != "WRONG", text
