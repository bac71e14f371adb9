# ruff: noqa: B007, C901 - programs under test do this on purpose
"""Loops that went wrong elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from onnxwright import BOOL, FLOAT, INT64, script
from onnxwright import opset18 as op
from tests.footguns.agreement import agrees, from_text
from tests.harness.tables import each

X = np.array([1.0, -2.0, 3.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(3, 2)


def many(count: int) -> str:
    """A script with `count` loop-carried variables, each fed by the next."""
    names = [f"v{k}" for k in range(count)]
    lines = ["@script()", "def f(x: FLOAT['N'], n: INT64):"]
    lines += [f"    {name} = x + {k}.0" for k, name in enumerate(names)]
    lines += ["    for i in range(n):"]
    lines += [f"        {a} = {b} + {a} * 0.5" for a, b in zip(names, names[1:] + names[:1])]
    lines += [f"    return {', '.join(names)}"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("count", [1, 2, 3, 7, 20, 40])
def test_many_carried_variables(agree, count: int) -> None:
    made = from_text(many(count))
    values = [X + np.float32(k) for k in range(count)]
    for _ in range(4):
        for k in range(count):
            values[k] = values[(k + 1) % count] + values[k] * np.float32(0.5)
    agree(made, X, np.array(4), expected=tuple(values))
    agree(made, X, np.array(0), expected=tuple(X + np.float32(k) for k in range(count)))


def test_the_same_bytes_under_every_hash_seed(run_python) -> None:
    code = (
        "import hashlib, linecache\n"
        "from onnxwright import FLOAT, INT64, script, opset18 as op\n"
        f"source = {many(40)!r}\n"
        "linecache.cache['<many>'] = (len(source), None, source.splitlines(True), '<many>')\n"
        "exec(compile(source, '<many>', 'exec'))\n"
        "print(hashlib.sha256(f.to_model_proto().SerializeToString(deterministic=True)).hexdigest())"
    )
    found = set()
    for seed in ("0", "12345"):
        done = run_python("-c", code, env={"PYTHONHASHSEED": seed})
        assert done.returncode == 0, done.stderr
        found.add(done.stdout.strip())
    assert len(found) == 1


def test_swap(agree) -> None:
    @script()
    def f(a: FLOAT["N"], b: FLOAT["N"], n: INT64):
        for i in range(n):
            a, b = b, a
        return a, b

    for n in range(4):
        expected = (X, X + 1) if n % 2 == 0 else (X + 1, X)
        agree(f, X, X + 1, np.array(n), expected=expected)


def test_three_way_rotation_in_a_while(agree) -> None:
    @script()
    def f(a: FLOAT, b: FLOAT, c: FLOAT):
        k = 0
        while k < 4:
            a, b, c = b, c, a
            k = k + 1
        return a, b, c

    one, two, three = (np.array(v, np.float32) for v in (1, 2, 3))
    agree(f, one, two, three, expected=(two, three, one))


@agrees(X, np.array(2), expected=(X + 2) * 2)
@agrees(X, np.array(0), expected=X * 2)
def test_for_else_without_break(x: FLOAT["N"], n: INT64):
    for i in range(n):
        x = x + 1
    else:
        x = x * 2
    return x


@agrees(X, np.array(2), expected=(X + 2) * 2)
@agrees(X, np.array(9), expected=X + 3)
def test_for_else_with_break(x: FLOAT["N"], n: INT64):
    for i in range(n):
        if x[0] > 3:
            break
        x = x + 1
    else:
        x = x * 2
    return x


@agrees(X, np.array(False), expected=(X + 2) * 10)
@agrees(X, np.array(True), expected=X + 1)
def test_while_else(x: FLOAT["N"], stop: BOOL):
    while x[0] < 3:
        x = x + 1
        if stop:
            break
    else:
        return x * 10
    return x


@agrees(X, expected=X * 5)
def test_break_with_an_else_branch(x: FLOAT["N"]):
    total = x * 0
    for i in range(10):
        if total[0] > 4:
            break
        else:
            total = total + x
    return total


def test_break_in_the_else_branch(agree) -> None:
    @script()
    def f(x: FLOAT["N"]):
        total = x * 0
        for i in range(10):
            if total[0] < 4:
                total = total + x
            else:
                break
            total = total + 0.5
        return total

    agree(f, X, expected=f.function(X))


@agrees(X, np.array(9), expected=(X * 3, X * 2))
@agrees(X, np.array(1), expected=(X, X))
def test_break_in_the_middle_of_a_body(x: FLOAT["N"], n: INT64):
    """What stands after the `break` does not run in the last turn."""
    before = 0
    after = 0
    for i in range(n):
        before = before + 1
        if i == 2:
            break
        after = after + 1
    return x * before, x * after


@agrees(X, np.array(5), expected=X + 20)
def test_continue(x: FLOAT["N"], n: INT64):
    for i in range(n):
        if i % 2 == 0:
            continue
        x = x + 10
    return x


def test_continue_and_break_in_nested_loops(agree) -> None:
    @script()
    def f(x: FLOAT["N"]):
        count = 0
        for i in range(4):
            if i == 1:
                continue
            for j in range(4):
                if j == i:
                    break
                if j == 1:
                    continue
                count = count + 1
            else:
                count = count + 100
            if i == 3:
                break
        return x * count

    agree(f, X, expected=f.function(X))


@agrees(X, np.array(2), expected=X + 2)
@agrees(X, np.array(9), expected=(X + 3) * 100)
def test_return_inside_a_loop(x: FLOAT["N"], n: INT64) -> FLOAT["N"]:
    for i in range(n):
        x = x + 1
        if x[0] > 3:
            return x * 100
    return x


@agrees(X, expected=(X + 5) * 100)
@agrees(X - 20, expected=X - 11)
def test_return_inside_two_loops(x: FLOAT["N"]) -> FLOAT["N"]:
    for i in range(3):
        for j in range(3):
            x = x + 1
            if x[0] > 5:
                return x * 100
        x = x * 1
    return x


@agrees(X, expected=X + 3)
def test_return_in_a_while_true(x: FLOAT["N"]) -> FLOAT["N"]:
    while True:
        x = x + 1
        if x[0] > 3:
            return x


@agrees(X, expected=(X + 3) * 2)
def test_while_true_with_break(x: FLOAT["N"]) -> FLOAT["N"]:
    while True:
        x = x + 1
        if x[0] > 3:
            break
    return x * 2


@agrees(X, np.array(4), expected=X * 60)
def test_the_loop_variable_reassigned_in_the_body(x: FLOAT["N"], n: INT64):
    """Python takes the next item all the same."""
    total = 0
    for i in range(n):
        i = i * 10
        total = total + i
    return x * total


@agrees(X, expected=(X + 3) * 8)
def test_the_loop_variable_read_after_the_loop(x: FLOAT["N"]):
    for i in range(2, 9, 3):
        x = x + 1
    return x * i


@agrees(X, np.array(3), expected=(X + 3, (X + 3) * 2))
@agrees(X, np.array(0), expected=(X, -X))
def test_the_loop_variable_read_after_a_loop_that_may_not_run(x: FLOAT["N"], n: INT64):
    i = -1
    for i in range(n):
        x = x + 1
    return x, x * i


@agrees(X, np.array(9), expected=X * 2)
@agrees(X, np.array(0), expected=X * 7)
def test_the_loop_variable_after_a_break(x: FLOAT["N"], n: INT64):
    i = 7
    for i in range(n):
        if i == 2:
            break
    return x * i


def test_the_loop_variable_beside_a_float_tensor(agree) -> None:
    @script()
    def f(x: FLOAT["N"], n: INT64):
        for i in range(n):
            x = x * i + i / 2
        return x

    agree(f, X, np.array(3), expected=f.function(X, 3))


@agrees(X, np.array(2), expected=X + 2)
@agrees(-X, np.array(2), expected=-X + 3)
def test_a_value_assigned_in_an_if_and_used_only_in_range(x: FLOAT["N"], n: INT64):
    if x[0] > 0:
        count = n
    else:
        count = n + 1
    for i in range(count):
        x = x + 1
    return x


def test_a_value_assigned_in_an_if_and_used_only_in_a_nested_function(agree) -> None:
    @script()
    def f(x: FLOAT["N"]):
        if x[0] > 0:
            scale = x * 2
        else:
            scale = x * 3

        def body(carried, row):
            return carried + row, scale[0] * row

        total, rows = op.Scan(op.Identity(0.0), x, body=body, num_scan_inputs=1)
        return total, rows

    expected = (np.float32(2), np.float32(2) * X)
    agree(f, X, expected=expected)


@agrees(X, expected=np.clip(X, np.float32(0.5), None))
@agrees(-X, expected=np.clip(-X, np.float32(-0.5), None))
def test_a_value_assigned_in_an_if_and_used_only_in_a_keyword(x: FLOAT["N"]):
    if x[0] > 0:
        low = op.Identity(0.5)
    else:
        low = op.Identity(-0.5)
    return op.Clip(x, min=low)


NAMES = (
    "infinite_loop", "cond", "trip_count", "iter_num", "cond_in", "cond_out", "loop", "body", "If",
    "then_branch", "else_branch", "i_1", "x_0", "_", "__", "_ret", "_return", "input", "output",
    "graph", "node", "list", "print", "range", "len", "é", "名前", "op_1", "self", "return_val",
    "Constant", "tmp", "x_2", "const", "true", "max", "abs", "loop_cond", "_break", "broken",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_with_any_name(agree, name: str) -> None:
    """Names we or ONNX might use ourselves are the user's."""
    source = f"""
@script()
def f(x: FLOAT['N'], n: INT64):
    {name} = x + 1
    i = n
    while i > 0:
        if i == 7:
            break
        {name} = {name} * 2
        if {name}[0] > 100:
            return {name}
        i = i - 1
    return {name}
"""
    agree(from_text(source), X, np.array(3), expected=(X + 1) * 8)


@each("name", ["infinite_loop", "cond", "iter_num", "Loop", "_", "é"])
def test_a_loop_variable_and_a_parameter_with_any_name(agree, name: str) -> None:
    source = f"""
@script()
def f({name}: FLOAT['N'], n: INT64):
    x = {name}
    for {name} in range(n):
        x = x + {name}
    return x
"""
    agree(from_text(source), X, np.array(4), expected=X + 6)


@agrees(X, np.array(2), expected=(X * 6, X * 6))
@agrees(X, np.array(0), expected=(X, X * 2))
def test_two_carried_variables_ending_as_the_same_value(x: FLOAT["N"], n: INT64):
    a = x
    b = x * 2
    for i in range(n):
        c = a + b
        a = c
        b = c
    return a, b


@agrees(X, np.array(2), expected=(X + 2, X * 4, X))
def test_two_carried_variables_starting_as_the_same_value(x: FLOAT["N"], n: INT64):
    a = x
    b = x
    for i in range(n):
        a = a + 1
        b = b * 2
    return a, b, x


@agrees(X, X * 5, np.array(2), expected=X * 5)
@agrees(X, X * 5, np.array(0), expected=X + 1)
def test_a_carried_variable_that_is_an_outer_value_at_the_end(
    x: FLOAT["N"], y: FLOAT["N"], n: INT64
):
    """The body gives back something it only captured."""
    a = x + 1
    for i in range(n):
        a = y
    return a


def test_constants_carried_by_a_loop_take_the_other_type(agree) -> None:
    @script()
    def f(x: FLOAT["N"], m: INT64["N"], n: INT64):
        k = 1
        for i in range(n):
            k = k * 2
        return x * k, m * k

    m = np.array([1, 2, 3])
    agree(f, X, m, np.array(3), expected=(X * 8, m * 8))


@agrees(X, np.array(3), expected=X * np.float32(0.125))
def test_a_float_constant_carried_by_a_loop(x: FLOAT["N"], n: INT64):
    k = 1.0
    for i in range(n):
        k = k * 0.5
    return x * k


@agrees(M, expected=M.sum())
def test_a_constant_that_becomes_a_tensor_in_the_loop(x: FLOAT["N", "M"]):
    """`total = 0` and `total = total + row` is what everybody writes."""
    total = 0
    for row in x:
        total = total + op.ReduceSum(row, keepdims=0)
    return total


@agrees(X, np.array(2), expected=np.concatenate([X, X, X]))
def test_a_carried_value_changes_its_shape(x: FLOAT["N"], n: INT64):
    """Growing in a loop is fine; only the dtype must stay."""
    a = x
    for i in range(n):
        a = op.Concat(a, x, axis=0)
    return a


@pytest.mark.parametrize(
    "arguments",
    [(5,), (1, 5), (0, 7, 2), (5, 0, -1), (5, -1, -2), (0, 5, -1), (3, 3), (7, 0, -3), (-3, 2)],
)
def test_range(agree, arguments) -> None:
    """Static and dynamic bounds give the same numbers."""
    texts = ", ".join(map(str, arguments)), ", ".join("abc"[: len(arguments)])
    total = 0
    for i in range(*arguments):
        total = total * 3 + i
    for text in texts:
        source = (
            "@script()\n"
            f"def f(x: FLOAT['N'], {', '.join(c + ': INT64' for c in 'abc'[: len(arguments)])}):\n"
            "    total = 0\n"
            f"    for i in range({text}):\n"
            "        total = total * 3 + i\n"
            "    return x * total\n"
        )
        agree(from_text(source), X, *map(np.array, arguments), expected=X * np.float32(total))


@agrees(M, expected=(M[1] + M[2] * 2, np.array(3)))
@agrees(M[:0], expected=(np.zeros(2, np.float32), np.array(0)))
def test_a_loop_over_the_first_axis(x: FLOAT["N", 2]):
    total = op.Identity([0.0, 0.0])
    count = 0
    for k, row in enumerate(x):
        total = total + row * k
        count += 1
    return total, count


@agrees(X, np.array([10, 20], np.float32), expected=np.float32(-30))
def test_zip_stops_at_the_shorter(x: FLOAT["N"], y: FLOAT["M"]):
    total = 0.0
    for a, b in zip(x, y):
        total = total + a * b
    return total


@agrees(X, X + 1, expected=np.float32(-2 * -1 + 2 * 3 * 4))
def test_zip_enumerate_and_range_together(x: FLOAT["N"], y: FLOAT["N"]):
    total = x[0] * 0
    for k, (a, b) in enumerate(zip(x, y)):
        total = total + a * b * k
    return total


@agrees(X, np.array(2), expected=(X * 4, np.array(0)))
@agrees(X, np.array(20), expected=(X * 16, np.array(16)))
def test_a_while_with_any_condition(x: FLOAT["N"], n: INT64):
    while x[0] < 10 and n > 0 or op.ReduceSum(x, keepdims=0) < -100:
        x = x * 2
        n = n - 1
    return x, n


@agrees(X, expected=X)
def test_a_while_that_never_runs(x: FLOAT["N"]):
    y = x
    while x[0] > 100:
        y = y + 1
        x = x - 1
    return y


def test_a_loop_whose_results_nobody_reads_is_dropped(agree) -> None:
    @script()
    def f(x: FLOAT["N"], n: INT64):
        y = x
        for i in range(n):
            y = y + 1
        return x * 2

    model = agree(f, X, np.array(2), expected=X * 2)
    assert [n.op_type for n in model.graph.node if n.op_type != "Constant"] == ["Mul"]


@agrees(M, expected=M[-1])
@agrees(M[:0], expected=np.array([-1, -1], np.float32))
def test_a_variable_of_the_loop_used_after_it_with_a_start_before(x: FLOAT["N", "M"]):
    """Zero turns leave the start."""
    last = op.Identity([-1.0, -1.0])
    for row in x:
        last = row
    return last


@agrees(np.array(5), expected=np.array(sum(j for i in range(5) for j in range(i))))
def test_nested_loops_with_dynamic_bounds(n: INT64):
    count = 0
    for i in range(n):
        for j in range(i):
            count = count + j
    return count


def test_deeply_nested_control_flow(agree) -> None:
    @script()
    def f(x: FLOAT["N"], n: INT64):
        for a in range(n):
            if a > 0:
                for b in range(a):
                    while x[0] < b:
                        x = x + 1
                        if x[1] > 2:
                            break
                    else:
                        x = x + 0.5
            else:
                continue
            if x[0] > 8:
                return x
        return -x

    for n in (0, 1, 3, 6):
        agree(f, X, np.array(n), expected=f.function(X, n))


@agrees(X, expected=(X + 1) * 3)
def test_a_break_in_both_branches(x: FLOAT["N"]):
    for i in range(5):
        x = x + 1
        if x[0] > 2:
            x = x * 2
            break
        else:
            x = x * 3
            break
    return x


@agrees(X, np.array(3), expected=X + 1)
def test_a_loop_with_only_a_break(x: FLOAT["N"], n: INT64):
    for i in range(n):
        break
    return x + 1


@agrees(X, expected=np.concatenate([X * 0, X * 2]))
def test_list_built_over_a_static_range(x: FLOAT["N"]):
    parts = [x * k for k in range(3) if k != 1]
    return op.Concat(*parts, axis=0)


@agrees(X, expected=np.concatenate([X, X * 2]))
def test_append_in_a_static_loop(x: FLOAT["N"]):
    parts = []
    for k in [1, 2]:
        parts = parts + [x * k]
    return op.Concat(*parts, axis=0)
