"""Calls that change Python objects: compiled as Python runs them, or refused with a place."""

from __future__ import annotations

import collections
import functools
import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxruntime
import pytest

import onnxwright as ow
from onnxwright import FLOAT, INT64, ScriptFunction, script
from onnxwright import opset20 as op
from onnxwright.errors import ScriptError

X = np.array([1.0, 2.0], np.float32)


class Counter:
    def __init__(self) -> None:
        self.n = 0

    def next(self) -> float:
        self.n += 1
        return float(self.n)


state = {"n": 0}


def bump() -> float:
    state["n"] += 1
    return float(state["n"])


def reset() -> float:
    state["n"] = 0
    return 0.0


def push(values: list[Any], value: Any) -> None:
    values.append(value)


def halves(n: int) -> list[float]:
    made = []
    for k in range(n):
        made.append(k / 2)
    return made


def pairs() -> Iterator[float]:
    yield from (1.0, 2.0, 3.0, 4.0)


seen: list[float] = []
counts: dict[Any, int] = {}


@functools.cache
def remembered(k: int) -> float:
    seen.append(k)
    return float(len(seen))


def count(a: float, b: float) -> float:
    seen.append(b)
    return a + b + len(seen)


# -- the same as Python ----------------------------------------------------------------------------


@script()
def pop_in_a_static_loop(x: FLOAT[2]) -> FLOAT[2]:
    todo = [1.0, 2.0, 3.0]
    for i in range(3):
        x = x * i + todo.pop()
    return x


@script()
def worklist(x: FLOAT[2]) -> FLOAT[2]:
    todo = [1.0, 2.0, 3.0]
    while len(todo) > 0:
        x = x + todo.pop()
    return x


@script()
def worklist_that_grows(x: FLOAT[2]) -> FLOAT[2]:
    todo = [3, 1]
    while todo:
        n = todo.pop()
        x = x + n
        if n > 2:
            todo.append(n - 1)
            todo.append(n - 2)
    return x


@script()
def deque_of_tensors(x: FLOAT[2]) -> FLOAT[2]:
    queue = collections.deque([1.0])
    queue.append(2.0)
    queue.append(x)
    while queue:
        x = x + queue.popleft()
    return x


@script()
def next_of_an_iterator(x: FLOAT[2]) -> FLOAT[2]:
    it = iter([1.0, 2.0, 3.0])
    for _ in range(3):
        x = x * next(it)
    return x


@script()
def next_of_a_counter(x: FLOAT[2]) -> FLOAT[2]:
    numbers = itertools.count(1)
    for _ in range(3):
        x = x + next(numbers)
    return x


@script()
def a_generator(x: FLOAT[2]) -> FLOAT[2]:
    it = pairs()
    for _ in range(2):
        x = x * next(it) + next(it)
    return x


@script()
def an_iterator_left_early(x: FLOAT[2]) -> FLOAT[2]:
    it = iter([1.0, 2.0, 3.0, 4.0])
    for _ in range(2):
        for v in it:
            x = x + v
            break
    return x


@script()
def one_iterator_zipped_with_itself(x: FLOAT[2]) -> FLOAT[2]:
    it = iter([1.0, 2.0, 3.0, 4.0])
    for a, b in zip(it, it):
        x = x * a + b
    return x


@script()
def stateful_helper(x: FLOAT[2]) -> FLOAT[2]:
    x = x + reset()
    for _ in range(3):
        x = x + bump()
    return x


@script()
def stateful_object(x: FLOAT[2]) -> FLOAT[2]:
    counter = Counter()
    for _ in range(3):
        x = x + counter.next()
    return x


@script()
def popitem(x: FLOAT[2]) -> FLOAT[2]:
    table = {"a": 1.0, "b": 2.0}
    while table:
        _, v = table.popitem()
        x = x + v
    return x


@script()
def setdefault(x: FLOAT[2]) -> FLOAT[2]:
    table: dict[str, Any] = {}
    for i in range(3):
        x = x + table.setdefault("k", x * (i + 1))
    return x


@script()
def a_set_of_what_was_seen(x: FLOAT[2]) -> FLOAT[2]:
    seen = set()
    for i in range(4):
        if i % 2 not in seen:
            seen.add(i % 2)
            x = x + i
    return x


@script()
def only_in_some_iterations(x: FLOAT[2]) -> FLOAT[2]:
    todo = [1.0, 2.0, 3.0]
    for i in range(4):
        if i % 2 == 0:
            x = x + todo.pop()
    return x


@script()
def nested_static_loops(x: FLOAT[2]) -> FLOAT[2]:
    todo = [1.0, 2.0, 3.0, 4.0]
    for _ in range(2):
        for _ in range(2):
            x = x * 2 + todo.pop()
    return x


@script()
def a_bound_method_by_name(x: FLOAT[2]) -> FLOAT[2]:
    todo = [1.0, 2.0, 3.0]
    take = todo.pop
    for _ in range(3):
        x = x + take()
    return x


@script()
def break_on_a_python_test(x: FLOAT[2]) -> FLOAT[2]:
    todo = [1.0, 2.0, 3.0]
    while True:
        if not todo:
            break
        x = x + todo.pop()
    return x


@script()
def two_names_of_one_list(x: FLOAT[2]) -> FLOAT[2]:
    a = [x]
    b = a
    a.append(x * 2)
    b[0] = x * 3
    a += [x * 5]
    return a[0] + b[1] + b[-1]


@script()
def a_helper_fills_a_list(x: FLOAT[2]) -> FLOAT[2]:
    made: list[Any] = []
    for i in range(3):
        push(made, x * i)
    return made[0] + made[1] + made[2]


@script()
def a_list_of_lists(x: FLOAT[2]) -> FLOAT[2]:
    rows = [[x], [x * 2]]
    for i in range(2):
        rows[i].append(x * i)
    return rows[0][1] + rows[1][1] + rows[1][0]


@script()
def a_list_that_grows_under_its_loop(x: FLOAT[2]) -> FLOAT[2]:
    todo = [1]
    for n in todo:
        x = x + n
        if n < 3:
            todo.append(n + 1)
    return x


@script()
def static_while_with_an_index(x: FLOAT[2]) -> FLOAT[2]:
    parts = [x, x * 2, x * 3]
    i = 0
    while i < 3:
        x = x + parts[i]
        i = i + 1
    return x


@script()
def a_list_made_and_changed_in_a_branch(x: FLOAT[2]) -> FLOAT[2]:
    if op.ReduceSum(x) > 0:
        todo = [1.0, 2.0]
        x = x + todo.pop()
        todo.append(5.0)
        x = x * todo.pop()
    else:
        x = -x
    return x


@script()
def an_item_set_in_a_branch(x: FLOAT[2]) -> FLOAT[2]:
    parts = [x, x * 2]
    if op.ReduceSum(x) > 0:
        parts[0] = x * 7
    return parts[0] + parts[1]


@script()
def a_pure_helper_in_a_branch(x: FLOAT[2]) -> FLOAT[2]:
    if op.ReduceSum(x) > 0:
        x = x + halves(3)[2]
    return x


@script()
def list_built_in_a_callee(x: FLOAT[2]) -> FLOAT[2]:
    return worklist(worklist(x))


# -- refused ---------------------------------------------------------------------------------------


@script()
def both_sides(x: FLOAT[2]) -> FLOAT[2]:
    todo = [1.0, 2.0]
    if op.ReduceSum(x) > 0:
        x = x + todo.pop()
    else:
        x = x - todo.pop()
    return x


@script()
def run_time_loop(x: FLOAT[2], n: INT64) -> FLOAT[2]:
    todo = [1.0, 2.0, 3.0, 4.0]
    for _ in range(n):
        x = x + todo.pop()
    return x


@script()
def run_time_while(x: FLOAT[2]) -> FLOAT[2]:
    it = iter([1.0, 2.0, 3.0])
    while op.ReduceSum(x) < 9:
        x = x + next(it)
    return x


@script()
def run_time_break(x: FLOAT[2]) -> FLOAT[2]:
    todo = [1.0, 2.0, 3.0]
    while todo:
        x = x + todo.pop()
        if op.ReduceSum(x) > 4:
            break
    return x


@script()
def short_circuit(x: FLOAT[2]) -> FLOAT[2]:
    todo = [True, False]
    flag = op.ReduceSum(x) > 0 and todo.pop()
    return x + (1.0 if flag else 2.0)


@script()
def ternary(x: FLOAT[2]) -> FLOAT[2]:
    todo = [1.0, 5.0]
    return x + todo.pop() if op.ReduceSum(x) > 0 else x - todo.pop()


@script()
def helper_in_a_branch(x: FLOAT[2]) -> FLOAT[2]:
    return x + bump() if op.ReduceSum(x) > 0 else x


@script()
def list_of_two_names_in_a_branch(x: FLOAT[2]) -> FLOAT[2]:
    a = [x, x]
    b = a
    if op.ReduceSum(x) > 0:
        a[0] = x * 2
    return b[0]


@script()
def iterating_in_a_branch(x: FLOAT[2]) -> FLOAT[2]:
    it = iter([1.0, 2.0])
    if op.ReduceSum(x) > 0:
        for v in it:
            x = x + v
    return x


@script()
def endless(x: FLOAT[2]) -> FLOAT[2]:
    todo = [1.0]
    while len(todo) > 0:
        todo.append(todo.pop())
        x = x + todo[0]
    return x


@script()
def outer_list(x: FLOAT[2]) -> FLOAT[2]:
    seen.clear()
    seen.extend([3.0, 1.0, 2.0])
    seen.sort()
    for i in range(3):
        x = x * i + seen.pop()
    return x


@script()
def outer_dict(x: FLOAT[2]) -> FLOAT[2]:
    counts.clear()
    counts["a"] = 1
    for i in range(3):
        counts[i] = i
        counts["a"] += i
        x = x * counts["a"] + len(counts)
    return x


@script()
def outer_worklist(x: FLOAT[2]) -> FLOAT[2]:
    seen.extend([4.0, 2.0])
    while seen:
        x = x * 2 + seen[0]
        seen.clear()
    return x


@script()
def cached_helper(x: FLOAT[2]) -> FLOAT[2]:
    seen.clear()
    remembered.cache_clear()
    for i in range(4):
        x = x * 2 + remembered(i % 2)
    return x


@script()
def partial_helper(x: FLOAT[2]) -> FLOAT[2]:
    seen.clear()
    add = functools.partial(count, 1.0)
    for i in range(3):
        x = x + add(i)
    return x


@script()
def outer_list_in_a_branch(x: FLOAT[2]) -> FLOAT[2]:
    if op.ReduceSum(x) > 0:
        seen.append(1.0)
        x = x + 1
    return x + len(seen)


@script()
def outer_dict_in_a_loop(x: FLOAT[2]) -> FLOAT[2]:
    while op.ReduceSum(x) < 10.0:
        counts["a"] = 1
        x = x + 1
    return x + counts["a"]


class Special:
    """Each of these counts how often it is asked."""

    n = 0

    def _next(self) -> int:
        Special.n += 1
        return Special.n

    @property
    def value(self) -> int:
        return self._next()

    def __getitem__(self, k: int) -> int:
        return self._next() + k

    def __len__(self) -> int:
        return self._next()

    def __radd__(self, other: int) -> int:
        return self._next() + other

    def __contains__(self, k: int) -> bool:
        return self._next() > 2

    def __iter__(self) -> Iterator[int]:
        return iter((self._next(), 1))


special = Special()


def restart() -> float:
    Special.n = 0
    return 0.0


@script()
def property_in_a_loop(x: FLOAT[2]) -> FLOAT[2]:
    x = x + restart()
    for _ in range(3):
        x = x + special.value
    return x


@script()
def item_in_a_loop(x: FLOAT[2]) -> FLOAT[2]:
    x = x + restart()
    for _ in range(3):
        x = x + special[1]
    return x


@script()
def length_in_a_loop(x: FLOAT[2]) -> FLOAT[2]:
    x = x + restart()
    for _ in range(3):
        x = x + len(special)
    return x


@script()
def right_operand_in_a_loop(x: FLOAT[2]) -> FLOAT[2]:
    x = x + restart()
    for _ in range(3):
        x = x + (1 + special)
    return x


@script()
def contains_in_a_loop(x: FLOAT[2]) -> FLOAT[2]:
    x = x + restart()
    for _ in range(4):
        if 1 in special:
            x = x + 1
    return x


@script()
def iterated_in_a_loop(x: FLOAT[2]) -> FLOAT[2]:
    x = x + restart()
    for _ in range(3):
        for k in special:
            x = x + k
    return x


@script()
def property_in_a_branch(x: FLOAT[2]) -> FLOAT[2]:
    if op.ReduceSum(x) > 0:
        x = x + special.value
    return x


kept: list[Any] = []


def remember(value: Any, held: list[Any] = kept) -> int:
    held.append(value)
    return len(held)


def remember_in(held: list[Any], value: Any) -> int:
    held.append(value)
    return len(held)


@script()
def list_of_a_default(x: FLOAT[2]) -> FLOAT[2]:
    kept.clear()
    for i in range(3):
        x = x + remember(i)
    return x * remember(x)


@script()
def outer_list_as_an_argument(x: FLOAT[2]) -> FLOAT[2]:
    kept.clear()
    for i in range(3):
        x = x + remember_in(kept, i)
    return x * remember_in(kept, x)


@script()
def list_of_a_default_in_a_branch(x: FLOAT[2]) -> FLOAT[2]:
    if op.ReduceSum(x) > 0:
        x = x * remember(x)
    return x


SCRIPTS = {n: v for n, v in list(globals().items()) if isinstance(v, ScriptFunction)}
REFUSED = {
    "property_in_a_branch": "OW318",
    "list_of_a_default_in_a_branch": "OW318",
    "both_sides": "OW318",
    "run_time_loop": "OW318",
    "run_time_while": "OW318",
    "run_time_break": "OW318",
    "short_circuit": "OW318",
    "ternary": "OW318",
    "helper_in_a_branch": "OW318",
    "list_of_two_names_in_a_branch": "OW318",
    "iterating_in_a_branch": "OW318",
    "endless": "OW317",
    "outer_list_in_a_branch": "OW318",
    "outer_dict_in_a_loop": "OW318",
}


@pytest.mark.parametrize("name", sorted(set(SCRIPTS) - set(REFUSED)))
def test_the_model_is_what_python_does(name: str) -> None:
    f = SCRIPTS[name]
    expected = np.asarray(f(X.copy()))
    model = f.to_model_proto()
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (output,) = session.run(None, {"x": X})
    np.testing.assert_allclose(output, expected)
    assert f.to_model_proto() == model, "compiling must not leave anything behind"


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_an_effect_that_the_model_would_decide_about_is_an_error(name: str) -> None:
    with pytest.raises(ScriptError, match=REFUSED[name]) as caught:
        SCRIPTS[name].to_model_proto()
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.span.file == __file__


def test_a_try_leaves_nothing_behind() -> None:
    """The list outside is as compiling found it but for what Python itself does to it."""
    outer = [1.0, 2.0, 3.0]

    @script()
    def f(x: FLOAT[2]) -> FLOAT[2]:
        for i in range(2):
            x = x + outer.pop() + ow.opset20.Identity(x) * i
        return x

    f.to_model_proto()
    assert outer == [1.0]


def test_warnings_come_out_once() -> None:
    """A loop tried as one Loop and then unrolled warns as often as the source says."""

    @script()
    def f(x: INT64[2]) -> INT64[2]:
        parts = [x, x + 1]
        for i in range(2):
            x = parts[i] + 0.5
        return x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f.to_model_proto()
    assert [w.message.diagnostic.code for w in caught] == ["OW405"]  # type: ignore[union-attr]
