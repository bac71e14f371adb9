"""A fixed share of the random damage: the same cases on every machine."""

from __future__ import annotations

import pytest

from tests.fuzzing.runs import one

# Kind, first seed, number of seeds: those of structures and scripts take longest.
SHARE = [*((kind, start, 30) for kind in ("models", "bytes") for start in range(0, 120, 30)),
         ("structures", 0, 15), ("rare", 0, 30), ("scripts", 0, 20)]  # fmt: skip


@pytest.mark.parametrize(("kind", "start", "count"), SHARE)
def test_damaged_models_end_well(kind: str, start: int, count: int) -> None:
    ends = {seed: one(kind, seed) for seed in range(start, start + count)}
    wrong = {seed: text for seed, (how, text) in ends.items() if how == "WRONG"}
    assert not wrong
    assert {how for how, _ in ends.values()} - {"endless"} == {"done", "refused"}, (
        "both ends are reached"
    )


# Cases that once ended wrong.
FOUND = (
    *(("models", seed) for seed in (
        10661, 10704, 10944, 11049, 20523, 21107, 500802, 501293, 501310, 501768, 501953, 502016,
        503544, 503888, 504585, 900064, 1208533, 4203252, 4203878,
    )),
    *(("rare", seed) for seed in (
        67, 81, 195, 316, 677, 900485, 900556, 950050, 950485, 950626, 950945, 955211, 955399,
        1205721, 1201784, 1201869, 1203397, 2107619, 2108732, 2200690,
    )),
    *(("bytes", seed) for seed in (504291, 504590, 505542)),
    *(("structures", seed) for seed in (
        1000, 20299, 1600280, 1700164, 4200427, 900896, 901407, 950718, 2101832, 2201219,
    )),
    *(("tokens", seed) for seed in (10060, 500144, 951475, 1200231, 2100672)),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "seed"), FOUND)
def test_what_ended_wrong_ends_well(kind: str, seed: int) -> None:
    how, text = one(kind, seed)
    assert how != "WRONG", text
