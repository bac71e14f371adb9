"""`onnxwright test-op`: ONNX's node tests judge a script that claims to be an operator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.reference.ops import op_pool_common

import onnxwright as ow
from onnxwright import BOOL, FLOAT, INT64, script
from onnxwright import opset18 as op
from onnxwright.cli.main import main
from onnxwright.testing.node_cases import CaseResult, cases_of, judge
from tests.harness.node_cases import pool
from tests.harness.tables import each


@script()
def softmax(x: FLOAT[...], axis: int = -1) -> FLOAT[...]:
    along = op.Reshape(axis, [1])
    e = op.Exp(x - op.ReduceMax(x, along, keepdims=1))
    return e / op.ReduceSum(e, along, keepdims=1)


@script()
def softmax_of_the_last_axis(x: FLOAT[...]) -> FLOAT[...]:
    return op.Softmax(x, axis=-1)


@script()
def softmax_without_its_maximum(x: FLOAT[...], axis: int = -1) -> FLOAT[...]:
    e = op.Exp(x)
    return e / op.ReduceSum(e, op.Reshape(axis, [1]), keepdims=1)


@script()
def clip(x: FLOAT[...], low: FLOAT | None = None, high: FLOAT | None = None) -> FLOAT[...]:
    return op.Clip(x, low, high)


@script()
def leaky_relu(x: FLOAT[...], alpha: float) -> FLOAT[...]:
    return op.Where(x < 0, alpha * x, x)


@script()
def top_k(x: FLOAT[...], k: INT64[...], axis: int = -1) -> FLOAT[...]:
    values, indices = op.TopK(x, k, axis=axis)
    return values


@script()
def less(x, y) -> BOOL[...]:
    return x < y


@script()
def wrong_type(x: FLOAT[...]):
    return op.Cast(op.Relu(x), to=11)


@script()
def fails(x: FLOAT[...]) -> FLOAT[...]:
    return op.Reshape(x, [7, 7, 7])


def judged(function: Any, name: str, domain: str = "") -> dict[str, CaseResult]:
    return {case.name: judge(function, case) for case in cases_of(name, domain)}


@pytest.mark.parametrize(
    ("function", "name", "least"),
    [
        (softmax, "Softmax", 7),
        (leaky_relu, "LeakyRelu", 3),
        (less, "Less", 2),
    ],
)
def test_a_script_that_is_the_operator_is_right(function: Any, name: str, least: int) -> None:
    results = judged(function, name)
    assert len(results) >= least
    assert {r.reason: r.verdict for r in results.values() if r.verdict == "wrong"} == {}
    assert sum(r.verdict == "right" for r in results.values()) >= min(least, 5)


def test_what_the_script_does_not_claim_is_skipped_with_the_reason() -> None:
    results = judged(softmax_of_the_last_axis, "Softmax")
    assert results["test_softmax_axis_0"].verdict == "skipped"
    assert "the attribute `axis`" in results["test_softmax_axis_0"].reason
    assert results["test_softmax_default_axis"].verdict == "right"
    results = judged(clip, "Clip")
    assert results["test_clip_default_inbounds"].verdict == "right"
    assert (
        "`x` is INT8[3, 4, 5], the script takes FLOAT"
        == results["test_clip_default_int8_min"].reason
    )
    assert {r.reason for r in judged(top_k, "TopK").values()} >= {"2 outputs, the script has 1"}
    assert {r.verdict for r in judged(top_k, "TopK").values()} == {"skipped"}
    assert {r.reason for r in judged(softmax, "Add").values()} >= {"2 inputs, the script has 1"}


def test_what_is_wrong_says_where() -> None:
    results = judged(softmax_without_its_maximum, "Softmax")
    large = results["test_softmax_large_number"]
    assert (large.verdict, results["test_softmax_axis_1"].verdict) == ("wrong", "right")
    assert large.reason.startswith("eager: output 0: ")
    assert "differ: at [1, 0] nan, not" in large.reason
    (result,) = judged(wrong_type, "Relu").values()
    assert result.reason == "eager: output 0: float64[3, 4, 5], the test has float32[3, 4, 5]"
    (result,) = judged(fails, "Relu").values()
    assert (result.verdict, result.reason[:14]) == ("wrong", "eager: error[O")


PROGRAM = """from onnxwright import FLOAT, script
from onnxwright import opset18 as op

@script()
def relu(x: FLOAT[...]) -> FLOAT[...]:
    return op.Max(x, 0.0)

@script()
def shifted(x: FLOAT[...]) -> FLOAT[...]:
    return op.Max(x, 0.5)
"""


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ops.py"
    path.write_text(PROGRAM)

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["test-op", *arguments])
        out, err = capsys.readouterr()
        return status, out, err

    assert run("Relu", "--script", f"{path}:relu") == (
        0, "test_relu  right\n1 right, 0 wrong, 0 skipped\n", "",
    )  # fmt: skip
    status, out, _ = run("ai.onnx.Relu", "--script", f"{path}:shifted", "--json")
    data = json.loads(out)
    assert (status, data["wrong"], data["tests"][0]["verdict"]) == (1, 1, "wrong")
    assert run("Relu", "--script", f"{path}:relu", "-q")[1] == "1 right, 0 wrong, 0 skipped\n"
    for arguments, words in (
        (("Rellu", "--script", f"{path}:relu"), "there is no operator Rellu; did you mean Relu?"),
        (("Relu", "--script", f"{path}:gone"), "gone"),
        (("Relu", "--script", "relu"), "--script takes FILE.py:fn, not relu"),
        (("Relu", "--script", f"{path}:relu", "-k", "zz"), "no node test of Relu has 'zz'"),
    ):
        status, _, err = run(*arguments)
        assert (status, words in err) == (2, True), err
    assert run("Add", "--script", f"{path}:relu")[0] == 1  # all skipped: nothing was shown


def test_operators_of_other_domains() -> None:
    @script()
    def binarizer(x: FLOAT[...], threshold: float) -> FLOAT[...]:
        return op.Cast(x > threshold, to=ow.FLOAT)

    results = judged(binarizer, "Binarizer", "ai.onnx.ml")
    assert [r.verdict for r in results.values()] == ["right"]


@each("kind", ["MAX", "AVG", "LPPOOL"])
def test_pools_computed_at_once_are_those_of_onnx(kind: str) -> None:
    x = np.random.default_rng(0).standard_normal((1, 2, 5, 6, 4)).astype(np.float32)
    arguments = (x, x.shape, [2, 3, 2], [1, 1, 1], [4, 4, 3], kind)
    expected = op_pool_common.pool(*arguments)
    assert pool(*arguments).tobytes() == expected.tobytes()
