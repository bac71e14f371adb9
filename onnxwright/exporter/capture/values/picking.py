"""What a number of run time picks: by the tag of a value, or as the place of an item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.session.number_forms import as_tensor
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.logic import combined, is_number


def looked_up(tag: Any, numbers: Mapping[int, Any]) -> Any:
    """One of several numbers, by a tag; without constants, which a side of a decision has not."""
    if all(isinstance(number, int) and number == n for n, number in numbers.items()):
        return tag
    values = list(numbers.values())
    selected: Any = tensor_of(values[-1])
    for n, number in list(numbers.items())[-2::-1]:
        selected = torch.where(tag == n, number, selected)
    return selected


def picked_number(tag: Any, numbers: Mapping[int, Any]) -> torch.Tensor:
    """One of several numbers of Python, by a tag."""
    session = current()
    assert session is not None
    floats = any(isinstance(number, float) for number in numbers.values())
    selected = looked_up(tag, {n: float(v) if floats else int(v) for n, v in numbers.items()})
    whole = frozenset(v for v in numbers.values() if isinstance(v, int))
    session.numbers.add(selected, frozenset() if floats else whole)
    session.numbers.pick(selected, tag, dict(numbers))
    types = (session.numbers.types(number) for number in numbers.values())
    session.numbers.note_types(selected, frozenset().union(*types))
    return selected


def where(tag: Any, answers: Mapping[int, Any]) -> Any:
    """A truth value, by the candidate: a bool, or a tensor.

    Args:
        tag: which candidate it is.
        answers: bools and tensors of a truth value, by the numbers of the candidates.
    """
    constant_answers: dict[bool, list[int]] = {True: [], False: []}
    tests: list[Any] = []
    for n, answer in answers.items():
        if isinstance(answer, bool):
            constant_answers[answer].append(n)
        else:
            tests.append(combined("and", is_number(tag, [n], answers), answer))
    if constant_answers[True] and not constant_answers[False] and not tests:
        return True
    if constant_answers[True]:
        tests.insert(0, is_number(tag, constant_answers[True], answers))
    if not tests:
        return False
    return tests[0] if len(tests) == 1 else combined("or", *tests)


def tensor_of(number: Any) -> torch.Tensor:
    """A tensor without axes of a tensor of one element or a symbolic number."""
    return as_tensor(number).reshape(()) if isinstance(number, torch.Tensor) else as_tensor(number)


def checked_place(place: torch.Tensor, count: int) -> torch.Tensor:
    """A place, from 0; from the end where negative.  The model raises an error for others."""
    places = torch.arange(count, device=place.device)
    return torch.ops.aten.index.Tensor(places, [place.to(torch.int64)])


def place_of_key(key_tensor: torch.Tensor, keys: Sequence[int]) -> torch.Tensor:
    """The place of a key, one that does not exist for others."""
    place = torch.full_like(key_tensor, len(keys), dtype=torch.int64)
    for n, key in enumerate(keys):
        place = torch.where(key_tensor == key, n, place)
    return place
