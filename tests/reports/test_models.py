"""Public reports about models: what tools of this field made of one, and what is right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright.errors import ConversionError
from tests.harness.tables import each
from tests.reports import cases_optimizer, cases_versions
from tests.reports.table import ModelReport

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda m: m,
    "optimize": ow.optimize,
    "exact": lambda m: ow.optimize(m, level="exact"),
    "onnxruntime": lambda m: ow.optimize(m, target="onnxruntime", assume=["default_session"]),
    "inlined": lambda m: ow.optimize(m, inline=True, prune=True),
    "newer": lambda m: ow.optimize(m, opset_version=23),
}


def check(report: ModelReport, made: onnx.ModelProto) -> None:
    names = [i.name for i in made.graph.input]
    found = ow.run_model(made, dict(zip(names, report.feeds, strict=True)))
    for one, right in zip(found, report.results, strict=True):
        assert one.dtype == right.dtype
        assert one.shape == right.shape
        if right.dtype.kind == "f":
            np.testing.assert_allclose(one, right, rtol=2e-5, atol=2e-6)
        else:
            np.testing.assert_array_equal(one, right)


@each("how", OPTIMIZERS)
@each("report", cases_optimizer.REPORTS)
def test_optimized(report: ModelReport, how: str) -> None:
    check(report, OPTIMIZERS[how](report.model))


@each("target", [7, 9, 11, 13, 17, 18, 21, 23])
@each("report", cases_versions.REPORTS)
def test_converted(report: ModelReport, target: int) -> None:
    if target in cases_versions.REFUSED.get(report.number, ()):
        with pytest.raises(ConversionError, match="OW870"):
            ow.convert_version(report.model, target)
    else:
        made = ow.convert_version(report.model, target)
        if target != report.opset:  # then nothing is converted
            onnx.checker.check_model(made)
        assert made.opset_import[0].version == target
        check(report, made)


def test_composed_models_whose_branches_read_what_is_connected() -> None:
    """onnx/onnx#5985."""
    first = parse("(float[2] x, bool c) => (float[2] m, bool k) { m = Neg(x) k = Identity(c) }")
    second = parse("""(float[2] a, bool b) => (float[2] y) {
        y = If (b) <then_branch = t () => (float[2] u) { u = Abs(a) },
                    else_branch = e () => (float[2] v) { v = Exp(a) }> }""")
    made = ow.compose(first, second, {"m": "a", "k": "b"})
    feeds = {"x": np.array([1, -2], np.float32), "c": np.array(True)}
    np.testing.assert_array_equal(ow.run_model(made, feeds)[0], [1, 2])


def test_an_extract_keeps_functions_that_only_a_branch_calls() -> None:
    """onnx/onnx#8435, microsoft/onnxruntime#10259."""
    model = parse(
        """(float[2] x, bool c) => (float[2] y) {
            h = Neg(x)
            y = If (c) <then_branch = t () => (float[2] u) { u = d.f(h) },
                        else_branch = e () => (float[2] v) { v = Abs(h) }> }""",
        '<domain: "d", opset_import: ["" : 20]> f (a) => (b) { b = Exp(a) }',
    )
    made = ow.extract(model, ["h", "c"], ["y"])
    feeds = {"h": np.array([0, 1], np.float32), "c": np.array(True)}
    np.testing.assert_allclose(ow.run_model(made, feeds)[0], np.exp([0, 1]), rtol=1e-6)


def test_a_saved_model_does_not_grow(tmp_path: Path) -> None:
    """onnx/onnx#6655, onnx/onnx#6497."""
    model = parse("(float[600] x) => (float[600] y) { y = Add(x, w) }")
    held = onnx.numpy_helper.from_array(np.ones(600, np.float32), "w")
    model.graph.initializer.append(held)
    onnx.save(model, tmp_path / "a.onnx", save_as_external_data=True, size_threshold=0,
              location="a.data")  # fmt: skip
    before = (tmp_path / "a.data").stat().st_size
    for target in (18, 21):
        ow.convert_version(tmp_path / "a.onnx", target, output=tmp_path / "a.onnx")
    assert sum(f.stat().st_size for f in tmp_path.glob("*.data")) <= before + 4096
    made = ow.run_model(tmp_path / "a.onnx", {"x": np.zeros(600, np.float32)})[0]
    np.testing.assert_array_equal(made, np.ones(600))


def test_functions_of_one_name_in_two_domains() -> None:
    """lutzroeder/netron#1558."""
    model = parse(
        "(float[2] x) => (float[2] y) { t = d.f(x) y = e.f(t) }",
        '<domain: "d", opset_import: ["" : 20]> f (a) => (b) { b = Exp(a) }'
        ' <domain: "e", opset_import: ["" : 20]> f (a) => (b) { b = Neg(a) }',
        ', "e" : 1',
    )
    feeds = {"x": np.array([0, 1], np.float32)}
    for made in (
        ow.optimize(model),
        ow.optimize(model, inline=True),
        ow.convert_version(model, 21),
    ):
        np.testing.assert_allclose(ow.run_model(made, feeds)[0], -np.exp([0, 1]), rtol=1e-6)
    assert "d.f" in str(ow.show(model))
    assert not ow.diff(model, model)


def test_rules_in_bodies_and_functions() -> None:
    """microsoft/onnxscript#2378."""

    twice = ow.rule(lambda op, x: op.Neg(op.Neg(x)), name="twice").to(lambda op, x: x)
    model = parse(
        """(float[2] x, bool c) => (float[2] y, float[2] m) {
            m = Neg(x)
            y = If (c) <then_branch = t () => (float[2] u) { p = Neg(m) q = Neg(p) u = Exp(q) },
                        else_branch = e () => (float[2] v) { v = d.f(m) }> }""",
        '<domain: "d", opset_import: ["" : 20]> f (a) => (b) { s = Neg(a) t = Neg(s) b = Abs(t) }',
    )
    made = ow.rewrite(model, twice)
    then, other = (a.g for a in sorted(made.graph.node[1].attribute, key=lambda a: a.name)[::-1])
    assert [n.op_type for n in then.node] == ["Exp"]
    assert [n.op_type for n in other.node] == ["f"]
    assert [n.op_type for n in made.functions[0].node] == ["Abs"]
    for c in (True, False):
        feeds = {"x": np.array([0, 1], np.float32), "c": np.array(c)}
        for one, right in zip(ow.run_model(made, feeds), ow.run_model(model, feeds), strict=True):
            np.testing.assert_array_equal(one, right)


def parse(graph: str, functions: str = "", imports: str = "") -> onnx.ModelProto:
    domains = ', "d" : 1' if functions else ""
    head = f'<ir_version: 10, opset_import: ["" : 20{domains}{imports}]>'
    return onnx.parser.parse_model(f"{head} g {graph} {functions}")
