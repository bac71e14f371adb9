"""Objects that a decision chose, and that the program changes: right, or refused with the line."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportError
from tests.exporter.source.programs import as_module


@dataclasses.dataclass
class Box:
    value: Any
    count: int = 0


class Node:
    def __init__(self, weight, following=None):
        self.weight, self.following, self.hits = weight, following, 0


class Counted:
    def __init__(self, value):
        self._value, self.sets = value, 0

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, new):
        self._value = new
        self.sets += 1


class Logged:
    def __init__(self, value):
        object.__setattr__(self, "names", {"value": 0})
        self.value = value

    def __setattr__(self, name, value):
        self.names[name] += 1
        object.__setattr__(self, name, value)


class Entered:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log[0] += 1
        return self

    def __exit__(self, *error):
        self.log[0] += 10


def items_of_a_list(x):
    a, b = [x, x + 1], [x + 2, x + 3]
    c = a if x.sum() > 0 else b
    c[0] = x * 10
    a[1] = x * 20
    return a, b, c[0], c[1]


def another_name_in_a_list(x):
    a, b = [x], [x + 1]
    both = [a, b]
    c = a if x.sum() > 0 else b
    both[0][0] = x * 5
    both[1].clear()
    both[1].append(x * 6)
    return c[0], a[0], b[0]


def fields_of_a_dataclass(x):
    a, b = Box(x), Box(x * 2)
    c = a if x.sum() > 0 else b
    c.value = c.value + 1
    c.count += 3
    return a.value, b.value, c.value, torch.tensor(0) + a.count, torch.tensor(0) + b.count


def a_property(x):
    a, b = Counted(x), Counted(x * 2)
    c = a if x.sum() > 0 else b
    c.value = c.value + 7
    return a.value, b.value, torch.tensor(0) + a.sets, torch.tensor(0) + b.sets


def a_setattr_of_its_own(x):
    a, b = Logged(x), Logged(x * 2)
    c = a if x.sum() > 0 else b
    c.value = x * 3
    return a.value, b.value, torch.tensor(0) + a.names["value"]


def a_context_manager(x):
    a, b = [0], [0]
    with Entered(a) if x.sum() > 0 else Entered(b):
        y = x + 1
    return y, torch.tensor(0) + a[0], torch.tensor(0) + b[0]


def chosen_twice(x):
    a, b, c = Node(x), Node(x * 2), Node(x * 3)
    one = a if x.sum() > 0 else b
    two = one if x.max() > 1 else c
    two.weight = two.weight + 1
    one.weight = one.weight * 2
    return a.weight, b.weight, c.weight, two.weight


def nodes_of_a_list(x):
    first = Node(1.0, Node(2.0, Node(3.0)))
    node, y = first, x
    for n in range(3):
        node.hits += 1
        y = y * node.weight
        if y.sum() > n and node.following is not None:
            node = node.following
    return y, torch.tensor(0) + first.hits, torch.tensor(0) + first.following.hits


def carried_by_a_loop(x):
    a, b = [x.sum()], [x.mean()]
    now, n = a, x.sum() * 0
    while n < 4:
        now[0] = now[0] + n
        now = b if now[0] > 1 else a
        n = n + 1
    return a[0], b[0], now[0]


def best_of_a_loop(x):
    best = [x[0], x[0].sum()]
    for row in x:
        now = [row, row.sum()]
        if now[1] > best[1]:
            best = now
    best[0] = best[0] * 2
    return best


def none_at_first(x):
    best = None
    for row in x:
        if best is None or row.sum() > best.weight.sum():
            best = Node(row)
    best.hits = 4
    return best.weight, torch.tensor(0) + best.hits


def lists_of_other_lengths(x):
    a, b = [x], [x + 1, x + 2]
    c = a if x.sum() > 0 else b
    y = x * 0
    for part in c:
        y = y * 2 + part
    return y, torch.stack(c).sum(), torch.tensor(0) + len(c)


def dicts_of_other_keys(x):
    a, b = {"u": x}, {"u": x + 1, "v": x + 2}
    c = a if x.sum() > 0 else b
    y = c["u"]
    if "v" in c:
        y = y + c["v"]
    for key in c:
        y = y * 2 + c[key]
    return y


def ranks_in_a_loop(x):
    h = x
    for row in x:
        if row.sum() > 1 and h.dim() == 2:
            h = h[0]
    return h.sum() * 2


def a_number_that_pytorch_knows(x):
    k = 0
    if x.sum() > 0:
        k = 1
    elif x.max() > -0.1:
        k = -1
    return x.softmax(k), torch.flip(x, (k,)), x.unsqueeze(k).sum()


def a_check_of_none(x):
    h = None if x.sum() > 1000 else x * 2
    if h is None:
        raise ValueError("large")
    return h + 1, h.sum()


def an_assertion_of_none(x):
    h = None if x.sum() > 1000 else x * 2
    assert h is not None
    return h + 1


def left_by_a_try_in_a_loop(x):
    def first_of(values, kind):
        for value in values:
            try:
                if not isinstance(value, kind):
                    raise TypeError
                return value
            except TypeError:
                continue
        return None

    scale = first_of(["a", 2.0, 3.0], float)
    return x * scale if x.sum() > 0 else x - scale


def a_list_made_longer(x):
    a, b = [x], [x + 1]
    c = a if x.sum() > 0 else b
    c.append(x * 3)
    return a[-1], b[-1], c[-1]


RIGHT = (
    items_of_a_list, another_name_in_a_list, fields_of_a_dataclass, a_property,
    a_setattr_of_its_own, a_context_manager, chosen_twice, nodes_of_a_list, carried_by_a_loop,
    best_of_a_loop, none_at_first, lists_of_other_lengths, dicts_of_other_keys, ranks_in_a_loop,
    a_number_that_pytorch_knows, a_check_of_none, an_assertion_of_none, left_by_a_try_in_a_loop,
    a_list_made_longer,
)  # fmt: skip


def _inputs() -> list[Any]:
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(3, 4, generator=generator) for _ in range(2))
    return [x, -x.abs(), y.abs() * 3, torch.zeros(3, 4), y]


@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_each_candidate_is_what_python_changes(function) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ow.OnnxwrightWarning)
        program = ow.export(as_module(function), (_inputs()[1],), capture="source")
    for x in _inputs():
        wanted = torch.utils._pytree.tree_leaves(function(x.clone()))
        for _ in range(2):
            found = torch.utils._pytree.tree_leaves(program(x.clone()))
            for a, b in zip(found, wanted, strict=True):
                torch.testing.assert_close(torch.as_tensor(a), b, check_dtype=False)


def one_of_a_side_under_two_names(x):
    held = {}
    if x.sum() > 0:
        a = [x + 1]
        held["k"] = a
    else:
        a = [x + 2]
        held["k"] = [x + 3]
    a.append(x * 2)
    return held["k"][-1], a[-1]


class Taking:
    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        return kind is not None and issubclass(kind, ValueError)


@contextlib.contextmanager
def taking():
    try:
        yield
    except ValueError:
        pass


def taken_by_a_context(x):
    with Taking():
        if x.sum() > 0:
            raise ValueError
        x = x + 1
    return x


def taken_by_a_generator(x):
    with taking():
        if x.sum() > 0:
            raise ValueError
        x = x + 1
    return x


def suppressed(x):
    with contextlib.suppress(KeyError, ValueError):
        if x.sum() > 0:
            raise ValueError
        x = x + 1
    return x


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (one_of_a_side_under_two_names, "OW886"),
        (taken_by_a_context, "OW862"), (taken_by_a_generator, "OW862"),
        (suppressed, "OW862"),
    ],
)  # fmt: skip
def test_what_is_not_captured_is_refused(function, code: str) -> None:
    with pytest.raises(ExportError, match=code):
        ow.export(as_module(function), (_inputs()[1],), capture="source")


def none_or_an_object(x):
    a = Node(x)
    c = a if x.sum() > -100 else None
    c.weight = x + 4
    return a.weight


def test_a_write_that_fails_for_one_of_them_is_named() -> None:
    with pytest.warns(ow.OnnxwrightWarning, match=r"OW900(?s:.*)c\.weight = x \+ 4"):
        program = ow.export(as_module(none_or_an_object), (_inputs()[1],), capture="source")
    for x in _inputs():
        torch.testing.assert_close(torch.as_tensor(program(x)), x + 4)
