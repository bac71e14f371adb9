# ruff: noqa: B007, B023, C416, C901, E711, F811, FURB, PERF401, PIE, UP - programs under test
"""What everybody writes in Python means in a script what it means in Python.

Each function is run on numpy arrays as it stands, and that is what every other way must give.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from onnxwright import BOOL, FLOAT, INT64, script  # noqa: F401
from onnxwright.errors import OnnxwrightError
from tests.footguns.agreement import agrees
from tests.harness.tables import each

X = np.array([1.0, -2.0, 3.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
N = np.array(3)

Vector, Matrix, Int = FLOAT["N"], FLOAT["N", "M"], INT64[()]
CASES = []


def case(*inputs):
    """The decorated function is a case with these inputs."""

    def note(function):
        CASES.append((function, inputs))
        return function

    return note


@case(X, N)
def append_to_a_list(x: Vector, n: Int):
    parts = []
    for k in range(3):
        parts.append(x * k)
    parts.extend([x, x + 1])
    last = parts.pop()
    return parts[0] + parts[2], parts[-1], last, x * len(parts)


@case(X)
def grow_a_list(x: Vector):
    parts = [x]
    parts += [x + 1]
    parts = parts + [x + 2] * 2
    a, *rest = parts
    return a, rest[0], rest[-1]


@case(X)
def loop_over_a_list(x: Vector):
    total = x * 0
    for part in [x, x + 1, x * 2]:
        total = total + part
    for name, scale in {"a": 2.0, "b": 3.0}.items():
        if name == "b":
            total = total * scale
    return total


@case(X)
def comprehensions(x: Vector):
    pairs = [(i, j) for i in range(3) for j in range(3) if i < j]
    table = {k: x * k for k in range(3)}
    total = sum(x * (i + j) for i, j in pairs)
    return total, table[2], max([k for k in table]) * x


@case(X)
def enumerate_zip_reversed(x: Vector):
    parts = [x, x + 1, x + 2]
    total = x * 0
    for k, part in enumerate(parts, start=1):
        total = total + part * k
    for a, b in zip(parts, parts[1:]):
        total = total - a * b
    for part in reversed(parts):
        total = total * 0.5 + part
    return total


@case(X)
def several_targets(x: Vector):
    a = b = x + 1
    a = a * 2
    return a, b


@case(M)
def unpack_the_rows_of_a_tensor(x: FLOAT[2, 3]):
    a, b = x
    return a - b


@case(X)
def a_nested_function_is_a_helper(x: Vector):
    def twice(y, extra=1.0):
        return y * 2 + extra

    return twice(twice(x), extra=3.0) + x


@case(X)
def a_nested_function_sees_what_is_bound_later(x: Vector):
    y = x

    def read():
        return y + 1

    y = x * 10
    return read()


@case(X)
def a_lambda_with_a_default(x: Vector):
    made = [lambda v, k=k: v * k for k in range(3)]
    late = [lambda v: v * k for k in range(3)]
    return made[1](x), late[0](x)


@case(X)
def stars_in_calls(x: Vector):
    def mix(a, b, c=1.0, *, d=2.0):
        return a * c - b * d

    parts = [x, x + 1]
    options = {"d": 5.0}
    return mix(*parts, 3.0, **options), mix(*[x], *[x], c=0.5)


@case(X)
def nested_results(x: Vector):
    def both(y):
        return y, (y + 1, y + 2)

    a, (b, c) = both(x)
    first, second = both(x)
    return a, b, c, second[0]


@case(X)
def none_and_is(x: Vector):
    mask = None
    if mask is None:
        y = x + 1
    if x is not None:
        y = y * 2
    return y


@case(M)
def sizes(x: Matrix):
    n, m = x.shape
    rank = len(x.shape)
    y = x * rank
    if rank == 2:
        y = y + n * m
    return y, x * (x.shape[0] / x.shape[1]), x[: n // 2 + 1], x * x.shape[-1] ** 2


@case(M)
def loops_over_positions(x: Matrix):
    total = 0.0
    for i in range(len(x)):
        for j in range(x.shape[1]):
            total = total + x[i, j] * (i + 1) - j
    for i in range(x.shape[0] - 1, -1, -1):
        total = total * 0.5 + x[i, 0]
    return total


@case(X, N)
def walrus_everywhere(x: Vector, n: Int):
    k = 0
    while (y := x[0] + k) < 3:
        k += 1
    z = (a := y * 2) + a
    if (b := z + 1) > 5 and (c := b + 1) > 6:
        return x * a + b + c
    return x


@case(X, N)
def numbers_from_tensors(x: Vector, n: Int):
    k = int(x[2])
    half = float(x[0]) / 2
    total = x * 0
    for i in range(k):
        total = total + i
    return total * half, x[k - 1], x * int(-x[1] + 0.75), x * bool(n)


@case(X)
def static_arithmetic(x: Vector):
    k = 7 // 2 + 2**3 % 5 - -1
    pi = math.floor(math.pi * 100) / 100
    text = f"{k:03d}"
    return x * k + pi, x * len(text), x * divmod(7, 2)[1], x * round(2.567, 1), x * (1 if k else 2)


@case(X, N)
def the_same_name_for_many_things(x: Vector, n: Int):
    y = 2
    y = x * y
    for y in range(3):
        x = x + y
    y = x > 0
    n = x if y[0] else -x
    return n


@case(X, N)
def loop_variables_of_two_loops(x: Vector, n: Int):
    i = 0
    for i in range(3):
        for j in range(i):
            x = x + j
        for i in range(2):
            x = x * 2
    return x, x * i


@case(X, N)
def augmented_everything(x: Vector, n: Int):
    x += 1
    x -= 0.5
    x *= 2
    x /= 4
    x **= 2
    x //= 0.5
    x %= 3
    n += 2
    n *= 3
    n //= 2
    n %= 5
    n <<= 2
    n |= 1
    n ^= 3
    n &= 14
    n >>= 1
    return x, n


@case(X)
def chained_ternaries(x: Vector):
    y = x if x[0] > 5 else x + 1 if x[1] > 5 else x + 2 if x[2] > 5 else x + 3
    z = (1 if x[0] > 0 else 2) + (0.5 if x[1] > 0 else 0.25)
    return y * z


@case(X, N)
def logic_gives_an_operand(x: Vector, n: Int):
    a = n or 7
    b = n and 5
    c = not n
    d = (n - 3) or 9
    return n * a, n * b, n * d, x if c else -x


@case(X, N)
def a_while_with_else_and_continue(x: Vector, n: Int):
    i = 0
    total = x
    while i < n:
        i += 1
        if i == 2:
            continue
        total = total * i
    else:
        total = total + 100
    return total


@case(X, N)
def a_return_in_a_loop_in_a_helper(x: Vector, n: Int):
    def find(v, limit):
        for i in range(limit):
            if v[i] < 0:
                return v[i] * 10
        return v[0]

    return find(x, 3), find(-x, 2), find(x * 0, 1)


@case(X)
def slices_in_variables(x: Vector):
    part = slice(None, None, -1)
    at = (0,)
    both = slice(1, 3)
    return x[part], x[at], x[both], x[[2, 0]][0]


@case(X)
def min_max_of_many(x: Vector):
    a, b, c = x[0], x[1], x[2]
    return max(a, b, c), min([a, b, c]), max(a, b) - min(a, c), abs(min(x)), max(x)


@case(X, N)
def passing_and_deleting(x: Vector, n: Int):
    y = x * 2
    if n > 100:
        pass
    else:
        z = y + 1
        del y
        y = z
        del z
    "a string that does nothing"
    return y


@case(X, N)
def early_returns_with_code_after(x: Vector, n: Int):
    if n == 0:
        return x
    elif n == 1:
        x = x + 1
    else:
        if n == 2:
            return x * 2
        x = x + 3
    for i in range(n):
        if i == 5:
            break
        if x[0] > 6:
            return x * 100
        x = x + 1
    else:
        return -x
    return x


@each(("function", "inputs"), CASES)
def test_a_script_means_what_python_means(agree, function, inputs) -> None:
    expected = function(*(value.copy() for value in inputs))
    single = not isinstance(expected, tuple)
    values = (expected,) if single else expected
    made = tuple(
        np.asarray(v, np.float32) if np.asarray(v).dtype == np.float64 else np.asarray(v)
        for v in values
    )
    agree(script(function), *inputs, expected=made[0] if single else made)


@pytest.mark.parametrize("n", range(8))
def test_every_way_through_the_early_returns(agree, n: int) -> None:
    inputs = (X, np.array(n))
    expected = early_returns_with_code_after(*inputs)
    agree(script(early_returns_with_code_after), *inputs, expected=expected)


factor = 2.0


def test_globals_are_read_when_compiling(agree) -> None:
    """A model made later has the value of later."""
    global factor

    @script()
    def f(x: Vector):
        return x * factor

    agree(f, X, expected=X * 2)
    factor = 3.0
    try:
        agree(f, X, expected=X * 3)
    finally:
        factor = 2.0


def test_closures_are_read_when_compiling(agree) -> None:
    k = 2.0

    @script()
    def f(x: Vector):
        return x * k

    agree(f, X, expected=X * 2)
    k = 5.0
    agree(f, X, expected=X * 5)


@agrees(X, np.array(3), expected=X * 2)
def test_a_list_changed_in_a_dynamic_loop(x: Vector, n: Int):
    """A Python list that grows while the model runs is a scan output or a sequence."""
    parts = []
    for i in range(n):
        parts.append(x * i)
    return parts[-1]


@agrees(X, expected=X + 1 if X[0] > 0 else X)
def test_a_list_changed_in_a_dynamic_branch(x: Vector):
    parts = [x]
    if x[0] > 0:
        parts.append(x + 1)
    return parts[-1]


def test_too_few_rows_to_unpack(refused) -> None:
    @script()
    def f(x: FLOAT[2, 3]):
        a, b, c = x
        return a

    refused(f, "OW535")
    with pytest.raises((OnnxwrightError, ValueError)):
        f(M)


@agrees(X, expected=X * 3 - X * 2 + X * 3)
def test_sorted_by_keys_known_when_compiling(x: Vector):
    pairs = [(3, x), (1, x * 2), (2, x * 3)]
    pairs.sort(key=lambda pair: pair[0])
    largest = max(pairs, key=lambda pair: -pair[0])
    order = sorted([2, 3, 1], key=lambda k: -k)
    return pairs[1][1] - largest[1] + sorted(pairs, key=lambda pair: pair[0])[2][1] * order[0]


def _sort(xs):
    xs.sort()
    return xs[0]


def _remove(xs):
    xs.remove(xs[1])
    return xs[0]


ORDERS = {
    "sort": lambda x: _sort([x, -x]),
    "sorted": lambda x: sorted([x, -x])[1],
    "a key": lambda x: sorted([x, -x], key=lambda v: v[0])[1],
    "remove": lambda x: _remove([x, -x]),
    "max": lambda x: max([x, -x], key=lambda v: v[0]),
}


@each("what", ORDERS)
def test_the_order_of_tensors_is_not_known_when_compiling(what: str, refused) -> None:
    order = ORDERS[what]

    @script()
    def f(x: Vector):
        return order(x)

    refused(f, "OW205")
