"""Lists appended in run-time loops: scan outputs or sequences, and the same as Python's own."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest

import onnxwright as ow
from tests.harness.loading import load_file

HEAD = """
from __future__ import annotations
from typing import Sequence
from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script
def f(x: FLOAT["N", 3], n: INT64[()]){returns}:
"""
X = np.array([[1, 2, 3], [0.5, 1, 1.5]], np.float32)

# A body that returns nothing joins its list along the first axis.
FILLED = """
r = []
for i in range(n):
    r.append(x * i)
"""
SCANNED = {
    "concatenated": FILLED,
    "stacked": FILLED + "return op.ConcatFromSequence(r, axis=0, new_axis=1)",
    "stacked at the end": FILLED + "return op.ConcatFromSequence(r, axis=-1, new_axis=1)",
    "Concat of all": FILLED + "return op.Concat(*r, axis=0)",
    "items and length": FILLED + "return op.SequenceAt(r, 0) + r[-1] + r[n - 1] + len(r)",
    "a part": FILLED + "return op.ConcatFromSequence(r[::-1], axis=0), len(r[1:])",
    "two lists, one of numbers": """
        r = []
        s = []
        for i in range(n):
            r.append(x * i)
            s.append(i)
        return op.ConcatFromSequence(r, axis=0), op.ConcatFromSequence(s, axis=0, new_axis=1)
        """,
    "two items each time": """
        r = []
        for i in range(n):
            y = op.ReduceSum(x, [0], keepdims=0) * i
            r += [y, y + 1]
        return op.ConcatFromSequence(r, axis=0, new_axis=1)
        """,
    "not empty before and after": """
        r = [x, x + 1]
        for i in range(n):
            r.append(x * i)
        r.append(x - 1)
        r += [x]
        """,
    "rows of a tensor": """
        r = []
        for row in x:
            r.append(op.Softmax(row, axis=-1))
        return op.ConcatFromSequence(r, axis=0, new_axis=1)
        """,
    "while, and break at the end": """
        r = []
        y = x
        k = 0
        while op.ReduceMax(y, keepdims=0) < 100.0:
            y = y * 2
            r.append(y)
            k += 1
            if k >= n:
                break
        """,
    "a loop over the list, and its sum": """
        r = []
        for i in range(n):
            r.append(x * i)
        t = x * 0
        for k, y in enumerate(r):
            t = t + y * k
        return t + sum(r)
        """,
    "another loop appends more": """
        r = []
        for i in range(n):
            r.append(x * i)
        for i in range(n):
            r.append(x - i)
        """,
    "a new list each time": """
        r = []
        for i in range(n):
            r = r + [x * i]
        """,
    "a comprehension": "r = [x * i + k for k, i in enumerate(range(n))]",
    "many iterations": """
        r = []
        for i in range(2000):
            r.append(op.ReduceSum(x, keepdims=0) + i)
        return op.ConcatFromSequence(r, axis=0, new_axis=1)
        """,
    "tests of the list": """
        r = []
        for i in range(n):
            r.append(x)
        y = x
        if r:
            y = y + 1
        if not r or len(r) > 3:
            y = y + 2
        return y
        """,
}
SEQUENCES = {
    "on a condition": """
        r = []
        for i in range(n):
            if i % 2 == 0:
                r.append(x * i)
        """,
    "another item on each side": """
        r = []
        for i in range(n):
            if i % 2 == 0:
                r.append(x * i)
            else:
                r.append(x[:1])
                r.append(x)
        """,
    "after a break": """
        r = [x]
        for i in range(n):
            if op.ReduceMax(x, keepdims=0) * i > 8.0:
                break
            r.append(x * i)
        """,
    "items of several shapes": """
        r = []
        for i in range(n):
            r.append(x[: i + 1])
        """,
    "two loops": """
        r = []
        for i in range(n):
            for j in range(i):
                r.append(x * i + j)
        return op.ConcatFromSequence([x, *[x]], axis=0), len(r)
        """,
    "a list in each iteration": """
        r = []
        for i in range(n):
            s = []
            for j in range(n):
                s.append(x * i + j)
            r.append(op.ConcatFromSequence(s, axis=0))
        """,
    "read in the loop": """
        r = [x]
        for i in range(n):
            r.append(r[-1] * 2 + len(r))
        """,
    "read by the test": """
        r = []
        while len(r) < n:
            r.append(x * len(r))
        """,
    "in a branch": """
        r = [x]
        if n > 2:
            r.append(x + 1)
        """,
    "other methods": """
        r = [x, x + 1]
        for i in range(n):
            r.insert(0, x * i)
            r.extend([x[:1], x])
            r.pop()
        r.pop(0)
        """,
    "a comprehension with a test": "r = [x * i for i in range(n) if i != 1]",
    "an endless loop with a break": """
        r = []
        k = 0
        while True:
            k = k + 1
            r.append(x * k)
            if op.ReduceSum(x, keepdims=0) * k > 40.0:
                break
        """,
    "a list that is made in the loop": """
        r = [x]
        for i in range(n):
            if i == 2:
                r = [x * 5]
            r.append(x)
        """,
}
UNROLLED = {
    "a known number of items": """
        r = []
        for i in range(3):
            r.append(x * i)
        return op.Concat(*r, axis=0)
        """,
    "a comprehension over known numbers": """
        r = [x * i for i in range(3)]
        a, b, c = r
        return a + b * c
        """,
}
RETURNED = {
    "a scan output": FILLED + "return r",
    "a sequence": """
        r = [x]
        for i in range(n):
            r.append(r[-1] + i)
        return r
        """,
    "a list of known length": "return [x, x + 1]",
}
EVERY = {**SCANNED, **SEQUENCES, **UNROLLED}


def function(body: str, folder: Path, returns: str = "") -> Any:
    lines = textwrap.dedent(body)
    if "return " not in lines:
        lines += "\nreturn op.ConcatFromSequence(r, axis=0)\n"
    text = HEAD.format(returns=returns) + textwrap.indent(lines, "    ")
    return load_text(text, folder).f


def load_text(text: str, folder: Path) -> Any:
    path = folder / "program.py"
    return load_file(path, text)


def nodes_of(graph: onnx.GraphProto) -> list[str]:
    inner = [n for node in graph.node for a in node.attribute for n in nodes_of(a.g)]
    return [n.op_type for n in graph.node] + inner


@pytest.mark.parametrize("name", EVERY)
def test_the_model_computes_what_python_does(name: str, tmp_path: Path) -> None:
    f = function(EVERY[name], tmp_path)
    model = f.to_model_proto()
    onnx.checker.check_model(model, full_check=True)
    for n in (1, 2, 5):
        inputs = {"x": X, "n": np.array(n)}
        expected = f(X, np.array(n))
        expected = expected if isinstance(expected, tuple) else (expected,)
        results = {"onnxruntime": ow.run_model(model, inputs)}
        if name not in SCANNED:
            # NOTE: onnx's reference implementation does not stack scan outputs, it joins them.
            results["reference"] = onnx.reference.ReferenceEvaluator(model).run(None, inputs)
        for runtime, outputs in results.items():
            for one, other in zip(expected, outputs, strict=True):
                assert np.asarray(one).dtype == np.asarray(other).dtype
                np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=f"{runtime} n={n}")


@pytest.mark.parametrize("name", SCANNED)
def test_lists_that_are_only_appended_to_need_no_sequence(name: str, tmp_path: Path) -> None:
    model = function(SCANNED[name], tmp_path).to_model_proto()
    assert not any(n in nodes_of(model.graph) for n in ("SequenceInsert", "SequenceEmpty"))


@pytest.mark.parametrize("name", RETURNED)
def test_a_list_is_returned_as_a_sequence(name: str, tmp_path: Path) -> None:
    f = function(RETURNED[name], tmp_path, " -> Sequence[FLOAT]")
    (items,) = ow.run_model(f.to_model_proto(), {"x": X, "n": np.array(3)})
    expected = f(X, np.array(3))
    assert isinstance(expected, list)
    assert len(items) == len(expected)
    for one, other in zip(expected, items, strict=True):
        np.testing.assert_allclose(one, other)


def test_no_iteration_gives_no_items(tmp_path: Path) -> None:
    model = function(SCANNED["concatenated"], tmp_path).to_model_proto()
    (rows,) = ow.run_model(model, {"x": X, "n": np.array(0)})
    assert rows.shape == (0, 3)


def test_a_function_that_collects_is_called(tmp_path: Path) -> None:
    """The callee knows the type of its items only where it is annotated; else it is inlined."""
    text = """
    from onnxwright import FLOAT, INT64, script
    from onnxwright import opset18 as op

    @script
    def powers(x, n):
        r = [x]
        for _ in range(n):
            r.append(r[-1] * x)
        return op.ConcatFromSequence(r, axis=0)

    @script
    def f(x: FLOAT["N", 3], n: INT64[()]):
        return powers(x, n) + 1
    """
    f = load_text(textwrap.dedent(text), tmp_path).f
    (output,) = ow.run_model(f.to_model_proto(), {"x": X, "n": np.array(2)})
    np.testing.assert_allclose(output, f(X, np.array(2)))


REFUSED = {
    "another name for the list": (
        """
        r = []
        s = r
        for i in range(n):
            r.append(x * i)
        return op.ConcatFromSequence(s, axis=0)
        """,
        "OW318",
    ),
    "another name after the loop": (
        """
        r = []
        for i in range(n):
            r.append(x * i)
        s = r
        s.append(x)
        return op.ConcatFromSequence(r, axis=0)
        """,
        "OW534",
    ),
    "items of two types": (
        """
        r = []
        for i in range(n):
            r.append(x)
            r.append(op.Shape(x))
        return r[0]
        """,
        "OW306",
    ),
    "an item that leaves the list": (
        """
        r = [x]
        for i in range(n):
            r.append(x)
        return r.pop()
        """,
        "OW896",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_an_error(name: str, tmp_path: Path) -> None:
    body, code = REFUSED[name]
    f = function(body, tmp_path)
    with pytest.raises(ow.OnnxwrightError, match=code):
        f.to_model_proto()
