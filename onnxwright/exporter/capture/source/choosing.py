"""Decisions between any number of parts, by a number that is known when the model runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.source.conditional import conditional
from onnxwright.exporter.capture.source.looping import as_truth
from onnxwright.exporter.capture.source.merging import UNSET
from onnxwright.exporter.capture.source.session import current, refused_here
from onnxwright.exporter.capture.source.state import State

Branch = Callable[[], None]


def result_of(
    decide: Callable[[Branch, Branch, State], None],
    then: Callable[[], Any],
    orelse: Callable[[], Any],
) -> Any:
    """What a decision between two expressions gives.

    Args:
        decide: decides between two branches that change a state.
        then, orelse: the expressions.

    Returns:
        The value of the one, or what stands for either.
    """
    box: list[Any] = [UNSET]

    def put(value: Any) -> None:
        box[0] = value

    names = ("the value",)
    state = State(names, names, (lambda: box[0],), lambda values: put(values[0]), ())
    decide(lambda: put(then()), lambda: put(orelse()), state)
    return box[0]


def among(place: Any, parts: Sequence[Callable[[], Any]]) -> Any:
    """The result of one of several parts: each half of them is a side of a decision.

    Args:
        place: which, a tensor of one integer or a symbolic number; from the end where negative.
        parts: the parts.

    Returns:
        What stands for the result.
    """
    return _among(_tensor_of(place) % len(parts), 0, parts)


def place_of(key: Any, keys: Sequence[int]) -> Any:
    """The place of a key, a tensor.

    Args:
        key: the key, a tensor of one integer or a symbolic number; one of `keys`.
        keys: all keys.
    """
    wanted = _tensor_of(key)
    place = torch.zeros_like(wanted, dtype=torch.int64)
    for n, one in enumerate(keys):
        place = torch.where(wanted == one, n, place)
    return place


def _tensor_of(number: Any) -> torch.Tensor:
    if isinstance(number, torch.Tensor):
        return number.reshape(())
    return torch.full((), number, dtype=torch.int64)


def _among(place: Any, first: int, parts: Sequence[Callable[[], Any]]) -> Any:
    if len(parts) == 1:
        return parts[0]()
    half = len(parts) // 2

    def decide(then: Branch, orelse: Branch, state: State) -> None:
        session = current()
        assert session is not None
        with refused_here():
            if conditional(as_truth(place < first + half), then, orelse, state):
                session.record("If")

    return result_of(
        decide,
        lambda: _among(place, first, parts[:half]),
        lambda: _among(place, first + half, parts[half:]),
    )
