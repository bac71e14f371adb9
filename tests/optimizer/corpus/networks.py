"""The registry of networks, and weights as training leaves them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Made:
    """A network, made.

    Fields:
        model: the module.
        inputs: example inputs, by the names of the parameters of `forward`.
        dynamic: for each input its axes of a size that varies, with their names.
    """

    model: torch.nn.Module
    inputs: dict[str, Any]
    dynamic: dict[str, dict[int, str]]


@dataclass(frozen=True)
class Network:
    """A network of the corpus.

    Fields:
        name: its name.
        kind: what it is for.
        make: makes it.
    """

    name: str
    kind: str
    make: Callable[[], Made]


NETWORKS: dict[str, Network] = {}


def network(kind: str) -> Callable[[Callable[[], Made]], None]:
    """A decorator that adds a function that makes a network to the corpus."""

    def add(make: Callable[[], Made]) -> None:
        assert make.__name__ not in NETWORKS
        NETWORKS[make.__name__] = Network(make.__name__, kind, make)

    return add


def made(chosen: Network) -> Made:
    """A network with its weights and example inputs, the same ones at every call."""
    torch.manual_seed(0)
    built = chosen.make()
    trained(built.model)
    built.model.eval()
    return built


def trained(model: torch.nn.Module) -> None:
    """Give weights the values training would: no zero biases, no scales of one."""
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1 and weight.is_floating_point():
                weight.normal_(0.0, 1.0 / max(weight[0].numel(), 1) ** 0.5)
            elif weight.is_floating_point():
                ones = bool((weight == 1).all())
                weight.normal_(1.0 if ones else 0.0, 0.2)
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.normal_(0.0, 0.2)
            elif name.endswith("running_var"):
                buffer.uniform_(0.5, 1.5)


def image(model: torch.nn.Module, size: int = 32, channels: int = 3) -> Made:
    """A network of pictures, in batches."""
    return Made(model, {"x": torch.randn(2, channels, size, size)}, {"x": {0: "batch"}})


def sequence(model: torch.nn.Module, width: int, length: int = 12) -> Made:
    """A network of sequences of vectors, in batches and of any length."""
    return Made(model, {"x": torch.randn(2, length, width)}, {"x": {0: "batch", 1: "length"}})


def signal(model: torch.nn.Module, channels: int, length: int = 64) -> Made:
    """A network of signals [batch][channels][length]."""
    return Made(model, {"x": torch.randn(2, channels, length)}, {"x": {0: "batch", 2: "length"}})


def words(model: torch.nn.Module, length: int = 8, most: int = 90) -> Made:
    """A network of words."""
    return Made(
        model,
        {"ids": torch.randint(3, most, (2, length))},
        {"ids": {0: "batch", 1: "length"}},
    )
