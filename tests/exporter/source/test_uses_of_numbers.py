"""What programs do with a number that a decision chose: right, or refused with its line."""

from __future__ import annotations

import collections
import copy
import dataclasses
import decimal
import functools
import json
import struct
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import onnxwright as ow
from tests.harness.tables import each


class Boxed:
    """A number with the special methods that Python calls."""

    def __init__(self, n: Any) -> None:
        self.n = n

    def __eq__(self, other: object) -> bool:
        return bool(self.n == other.n) if isinstance(other, Boxed) else False

    def __hash__(self) -> int:
        return hash(self.n)

    def __bool__(self) -> bool:
        return self.n > 1  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return self.n  # type: ignore[no-any-return]

    def __contains__(self, n: Any) -> bool:
        return n == self.n  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"Boxed({self.n})"


@functools.total_ordering
class Ordered(Boxed):
    """The same, in an order."""

    def __lt__(self, other: Boxed) -> bool:
        return self.n < other.n  # type: ignore[no-any-return]


@dataclasses.dataclass
class Data:
    """Its special methods are made by `dataclasses`."""

    n: Any = 1


class Chooses(torch.nn.Module):  # type: ignore[misc]
    """Uses one of two values, by the sum of its input."""

    def __init__(self, one: Any, two: Any, use: Callable[[Any], Any]) -> None:
        super().__init__()
        self.one, self.two, self.use = one, two, use

    def forward(self, x: Any) -> Any:
        """The input, times what is made of the value."""
        n = self.one
        if x.sum() > 0:
            n = self.two
        use = self.use
        return x * use(n)


def _matched(n: Any) -> int:
    match Data(n):
        case Data(2):
            return 5
    return 7


def _of_type(n: Any) -> int:
    match n:
        case int():
            return 5
    return 7


_TWO = 2


@functools.singledispatch
def _by_type(n: Any) -> Any:
    return 3


@_by_type.register(int)
def _by_int(n: int) -> Any:
    return n * 5


# The two values, what is done with them, and the code of a refusal: None where it is right.
USES: dict[str, tuple[Any, Any, Callable[[Any], Any], str | None]] = {
    "a tuple is equal": (1, 2, lambda n: 2 if (n, 3) == (2, 3) else 5, None),
    "a deep copy": (1, 2, lambda n: copy.deepcopy({"n": n})["n"], None),
    "a dataclass as a dict": (1, 2, lambda n: sum(dataclasses.asdict(Data(n)).values()), None),
    "a quotient is a float": (1, 2.5, lambda n: 2 if isinstance(n / 2, float) else 5, None),
    "both are numbers": (1, 2.5, lambda n: n if isinstance(n, (int, float)) else 5, None),
    "both are real": (1, 2.5, lambda n: 2 if hasattr(n, "imag") else 5, None),
    "no number has a shape": (1, 2, lambda n: 2 if hasattr(n, "shape") else 5, None),
    "no number has a shape, by default": (1, 2, lambda n: getattr(n, "shape", [5])[0], None),
    "a function or None": (None, abs, lambda f: f(-3) if callable(f) else 5, None),
    "a set": (1, 2, lambda n: len({n, 2, 3}), "OW842"),
    "a frozen set": (1, 2, lambda n: len(frozenset([n, 2])), "OW842"),
    "a counter": (1, 2, lambda n: collections.Counter([n, 2])[2], "OW842"),
    "a key": (1, 2, lambda n: {n: 3, 2: 5}[2], "OW842"),
    "a key of two": (1, 2, lambda n: _stored({1: 3, 2: 5}, n), None),
    "a new key": (1, 2, lambda n: _stored({2: 3}, n), "OW842"),
    "an address": (1, 2, lambda n: 2 if id(n) == id(2) else 5, "OW842"),
    "the same number": (1, 2, lambda n: 2 if n is _TWO else 5, "OW842"),
    "the class of a number": (1, 2, lambda n: 2 if n.__class__ is int else 5, None),
    "a function by the type": (1, 2, _by_type, None),
    "a function by one of two types": (1, 2.5, _by_type, "OW842"),
    "a hash": (1, 2, lambda n: hash(n), "OW842"),
    "a text of an object": (1, 2, lambda n: 2 if repr(Boxed(n)) == "Boxed(2)" else 5, "OW842"),
    "a text in a text": (1, 2, lambda n: 2 if f"{Boxed(n)}" == "Boxed(2)" else 5, "OW842"),
    "a text in a list": (1, 2, lambda n: 2 if str([n]) == "[2]" else 5, "OW842"),
    "json": (1, 2, lambda n: len(json.dumps({"n": n})), "OW842"),
    "bytes": (1, 2, lambda n: struct.pack("b", n)[0], "OW842"),
    "a decimal": (1, 2, lambda n: float(decimal.Decimal(n)), "OW842"),
    "an array of numpy": (1, 2, lambda n: float(np.array([n, 3]).sum()), "OW842"),
    "an object is equal": (1, 2, lambda n: 2 if Boxed(n) == Boxed(2) else 5, None),
    "a dataclass is equal": (1, 2, lambda n: 2 if Data(n) == Data(2) else 5, None),
    "the smallest object": (1, 2, lambda n: min(Ordered(n), Ordered(2)).n, "OW842"),
    "the truth of an object": (1, 2, lambda n: 2 if Boxed(n) else 5, "OW842"),
    "the length of an object": (1, 2, lambda n: len(Boxed(n)), "OW842"),
    "an object has it": (1, 2, lambda n: 2 if 2 in Boxed(n) else 5, "OW842"),
    "a pattern of a dataclass": (1, 2, _matched, "OW842"),
    "tuples in an order": (1, 2, lambda n: 2 if (n, 3) < (2, 0) else 5, "OW842"),
    "a dict is equal": (1, 2, lambda n: 2 if {"a": n} == {"a": 2} else 5, None),
    "the bits of a number": (1, 2, lambda n: n.bit_length(), "OW842"),
    "the truth of a sum": (1, 2, lambda n: 2 if n + 1 and not n - 3 else 5, None),
    "a whole float": (1.0, 2.5, lambda n: 2 if n.is_integer() else 5, None),
    "an int or a float": (1, 2.5, lambda n: 2 if isinstance(n, int) else 5, "OW842"),
    "their sums": (1, 2.5, lambda n: 2 if isinstance(n + 1, int) else 5, "OW842"),
    "their type": (1, 2.5, lambda n: 2 if type(n) is float else 5, "OW842"),
    "a pattern of a type": (1, 2.5, _of_type, "OW842"),
    "a truth value or a number": (2, True, lambda n: 2 if n is True else 5, "OW842"),
    "a truth value or a place": (0, True, lambda n: torch.ones(3)[n].sum(), "OW842"),
    "a number or a tensor": (1, torch.tensor(2.0), lambda n: 1 + torch.is_tensor(n), "OW842"),
    "a shape": (1, torch.tensor(2.0), lambda n: 1 + hasattr(n, "shape"), "OW842"),
    "an attribute by its name": ("one", "two", lambda n: _set_by_name(n).one, "OW842"),
    "the code of a letter": ("a", "b", lambda n: ord(n), "OW842"),
}


def _stored(items: dict[int, int], n: Any) -> int:
    items[n] = 7
    return items[2] * len(items)


def _set_by_name(name: str) -> Any:
    made = Data()
    made.one = 1  # type: ignore[attr-defined]
    setattr(made, name, 3)
    return made


INPUTS = [torch.tensor(x) for x in ([0.5, 2.0, 0.1], [-1.0, 0.2, 0.1], [0.5, 0.3, 0.1])]


@each("name", list(USES))
def test_what_is_done_with_a_chosen_number_is_right_or_refused(name: str) -> None:
    one, two, use, code = USES[name]
    model = Chooses(one, two, use)
    wanted = [model(x) for x in INPUTS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if code is not None:
            with pytest.raises(ow.OnnxwrightError) as raised:
                ow.export(model, (INPUTS[0],))
            assert raised.value.diagnostic.code == code
            assert raised.value.diagnostic.span.file == __file__, "the line is in this file"
            return
        program = ow.export(model, (INPUTS[0],))
    for x, result in zip(INPUTS, wanted):
        torch.testing.assert_close(program(x), result)


def test_the_type_of_what_a_loop_adds_to_is_asked_for() -> None:
    class Adds(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            total = 0
            while x.sum() < 20:
                x, total = x * 2 + 1, total + 0.5
            return x * 2 if isinstance(total, float) else x

    with pytest.raises(ow.OnnxwrightError, match=r"OW842.*float or int"):
        ow.export(Adds(), (INPUTS[0],))
