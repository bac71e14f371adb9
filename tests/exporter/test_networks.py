"""Real networks, tiny and with random weights: exported, checked, run, compared with PyTorch.

The default run takes those of `networks.py` and `networks_more.py` that are not slow; all of them:

    pytest tests/exporter/test_networks.py -m "slow or not slow"
"""

from __future__ import annotations

from collections import Counter
from importlib.metadata import PackageNotFoundError, version

import pytest
from packaging.version import Version

try:  # its version alone: importing it takes a second, and collecting needs the names only
    _NEW_ENOUGH = Version(version("transformers")) >= Version("5.20")
except PackageNotFoundError:
    _NEW_ENOUGH = False
if not _NEW_ENOUGH:
    pytest.skip("the networks are of transformers 5.20", allow_module_level=True)

import onnxwright as ow
from tests.exporter import networks_more  # noqa: F401 - registers its own
from tests.exporter.networks import NETWORKS, Network, made

_CASES = [pytest.param(n, id=n.name, marks=[pytest.mark.slow] * n.slow) for n in NETWORKS]


@pytest.mark.filterwarnings("ignore:.*OW889")  # Informer draws which keys it looks at: all here
@pytest.mark.parametrize("network", _CASES)
def test_network_is_what_torch_computes(network: Network) -> None:
    """Checker, ONNX Runtime beside PyTorch on the example, and with every dynamic size larger."""
    model, kwargs, dynamic = made(network)
    program = ow.export(model, (), kwargs, dynamic_shapes=dynamic)
    found = program.verify((), kwargs)
    assert found.ok, str(found)
    notes = [
        note
        for note in found.notes
        if not any(f"`{text}`" in note and "no iteration" in note for text in network.always)
    ]
    assert notes == [
        # Masks that are shorter than the cache are padded by transformers; tables may grow.
        f"not verified: sizes where `{guard.text}` does not hold"
        for guard in program.sizes.decisions()
        if "cache" in network.kind or network.grows
    ]
    runs = {one.run for one in found.outputs} - {"smallest sizes", "sizes of both sides"}
    assert runs == ({"given", "other sizes"} if dynamic else {"given"})


def test_every_kind_is_in_the_default_run() -> None:
    every, default = (
        Counter(n.kind for n in NETWORKS if not (n.slow and quick)) for quick in (0, 1)
    )
    assert len(NETWORKS) >= 25
    assert set(default) == set(every)
    assert sum(default.values()) >= len(NETWORKS) // 5
