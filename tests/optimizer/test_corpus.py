"""Exports of real architectures: equal results at two sizes, nothing left for a second time.

The default run takes a third of the stored share, which is every fourth network by each exporter
that takes it; `-m slow` the others.  All:

    python -m tests.optimizer.corpus FOLDER && python -m tests.optimizer.corpus.check FOLDER
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.optimizer.corpus.check import check, table
from tests.optimizer.corpus.stored import names, stored

# torch.onnx exports these to models that do not run.
BROKEN = {"patchtst.torchscript", "mamba2.torchscript", "bamba.torchscript"}


STORED = [n for n in names() if n not in BROKEN]
CASES = [pytest.param(n, marks=[pytest.mark.slow] * (i % 3 > 0)) for i, n in enumerate(STORED)]


@pytest.mark.parametrize("name", CASES)
def test_stored_model(name: str) -> None:
    row = check(stored(name))
    assert row.trouble is None, row


def test_stored_models_are_of_all_exporters() -> None:
    ways = Counter(name.split(".")[1] for name in names())
    assert min(ways[w] for w in ("ours", "torchscript", "dynamo")) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("way", ["ours", "torchscript"])
def test_networks(way: str) -> None:
    """The networks that are written by hand, exported now."""
    pytest.importorskip("torch", reason="the networks are torch's")
    from tests.optimizer.corpus import sequences, vision  # noqa: F401 - register their own
    from tests.optimizer.corpus.exporting import case
    from tests.optimizer.corpus.networks import NETWORKS

    rows = [check(case(name, way)) for name in NETWORKS]
    print(table(rows))
    assert len(rows) > 40
    assert [r for r in rows if r.trouble] == []


@pytest.mark.slow
@pytest.mark.parametrize("level", ["exact", "rounding"])
def test_backend_models(level: str) -> None:
    """The node tests and stored models of the installed onnx, as far as they run."""
    from tests.optimizer.corpus.backend import cases

    rows = [check(case, level=level) for case in cases()]
    assert sum(r.runs > 0 for r in rows) > 1000
    assert [r for r in rows if r.trouble and r.runs] == []
