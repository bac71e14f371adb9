"""The networks of the package transformers, as the tests of the exporter have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.exporter import networks as hub
from tests.exporter import networks_more  # noqa: F401 - registers its own
from tests.harness.modules import module_with
from tests.optimizer.corpus.networks import NETWORKS, Made, Network


@module_with(lambda inner, names: {"inner": inner, "names": names})
def Named(self, a: Any, b: Any = None, c: Any = None, d: Any = None, e: Any = None) -> Any:
    """A network whose inputs are given by their places."""
    outputs = self.inner(**dict(zip(self.names, (a, b, c, d, e), strict=False)))
    return outputs.to_tuple() if hasattr(outputs, "to_tuple") else outputs


def _maker(chosen: hub.Network) -> Callable[[], Made]:
    def make() -> Made:
        built = chosen.make()
        inputs = built.kwargs
        # Caches and tuples of inputs are exported at one size.
        flat = all(isinstance(v, torch.Tensor) for v in inputs.values())
        dynamic: dict[str, Any] = dict(built.dynamic or {}) if flat else {}
        return Made(Named(built.model, list(inputs)), inputs, dynamic)

    return make


for _one in hub.NETWORKS:
    NETWORKS.setdefault(_one.name, Network(_one.name, _one.kind, _maker(_one)))
