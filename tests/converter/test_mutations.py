"""Damaged scripts end in a model or in a located error, never in anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.mutations import Ending, ending, run_mutations

VALID = sorted((Path(__file__).parent / "valid").glob("*.py"))
SOURCES = [path.read_text(encoding="utf-8") for path in VALID]


def check(count: int, seed: int) -> None:
    wrong: list[Ending] = []
    kinds = run_mutations(SOURCES, count, seed, wrong.append)
    assert not wrong, f"{len(wrong)} of {count}:\n{wrong[0].text}\n{wrong[0].source}"
    # Both ends are reached, or the damage would prove little.
    assert min(kinds["model"], kinds["error"]) > count // 10


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_what_is_damaged_is_valid(path: Path) -> None:
    end = ending(path.read_text(encoding="utf-8"))
    assert end.kind == "model", end.text


@pytest.mark.parametrize("seed", range(2))
def test_mutations_end_well(seed: int) -> None:
    """The fixed share: the same mutations on every machine."""
    check(40, seed)


@pytest.mark.slow
def test_five_thousand_mutations_end_well() -> None:
    check(5000, 1000)
