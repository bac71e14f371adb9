"""The OpInfo sweep as tests: each function against torch's samples, eagerly and as one graph.

The default run is a fixed share: float32, int64 and bool of every test, and one in sixteen of the
units in the other dtypes, chosen by a hash of their names; the first `FEW` samples of each.  The
whole sweep is

    pytest -m slow tests/atenlib/test_opinfo.py -n auto

(all samples of all units, over machines with the means of pytest-xdist), or `onnxwright sweep`,
which writes reports.
"""

from __future__ import annotations

import zlib

import pytest

pytest.importorskip("torch", reason="the samples are torch's")
pytest.importorskip("expecttest", reason="torch's OpInfos import it")

from onnxwright.sweep.units import MODES, STATUSES, Unit, run_unit, units  # noqa: E402
from tests.harness.tables import check_rows  # noqa: E402

FEW = 2
ALWAYS = ("float32", "int64", "bool")
ONE_IN = 16

UNITS = units()


def is_in_share(unit: Unit) -> bool:
    """Whether a unit is in the default run; the same answer on every machine."""
    return unit.dtype in ALWAYS or zlib.crc32(unit.key.encode()) % ONE_IN == 0


def hold(unit: Unit, limit: int | None) -> None:
    """A unit has no wrong sample, and at least one that is not refused."""
    outcomes = list(run_unit(unit, MODES, limit))
    wrong = [o for o in outcomes if o.is_wrong]
    told = [f"{o.mode} #{o.sample} {o.status}: {o.why}" for o in wrong[:5]]
    assert not wrong, f"{len(wrong)} of {len(outcomes)} samples\n" + "\n".join(told)
    assert {o.status for o in outcomes} <= set(STATUSES)


SHARE: dict[str, list[Unit]] = {}
OTHERS: dict[str, list[Unit]] = {}
_seen: set[tuple[str, str, int]] = set()
for one in sorted(filter(is_in_share, UNITS), key=lambda unit: unit.dtype not in ALWAYS):
    pair = one.function.name, one.test.name, one.number
    (OTHERS if pair in _seen else SHARE).setdefault(one.function.name, []).append(one)
    _seen.add(pair)


@pytest.mark.parametrize("name", SHARE)
def test_share(name: str) -> None:
    """The first samples of a function in one dtype."""
    check_rows(SHARE[name], lambda unit: hold(unit, FEW), lambda unit: unit.key)


@pytest.mark.parametrize("name", OTHERS)
def test_other_types(name: str) -> None:
    """The first samples of the other dtypes of the share."""
    check_rows(OTHERS[name], lambda unit: hold(unit, FEW), lambda unit: unit.key)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.key)
def test_whole(unit: Unit) -> None:
    """All samples."""
    hold(unit, None)


def test_the_share_is_most_of_the_table() -> None:
    """The default run has every test of every function in at least one dtype."""
    every = {(u.function.name, u.test.name) for u in UNITS}
    some = {(u.function.name, u.test.name) for u in UNITS if is_in_share(u)}
    without = {test for _, test in every - some}
    assert without <= {u.test.name for u in UNITS if u.dtype not in ALWAYS}
    assert len(some) >= 0.97 * len(every)
