"""Public reports about scripts: eager, compiled and read back from the model, all as numpy."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnxwright as ow
from tests.harness.tables import each
from tests.reports import cases_scripts
from tests.reports.cases_scripts import ScriptReport


def same(found: Any, right: Any) -> None:
    found, right = np.asarray(found), np.asarray(right)
    assert found.dtype == right.dtype
    assert found.shape == right.shape
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6)


@each("report", cases_scripts.REPORTS)
def test_eager(report: ScriptReport) -> None:
    for given in report.feeds:
        same(report.function(*map(np.asarray, given)), report.right(*given))


@each("report", cases_scripts.REPORTS)
def test_compiled(report: ScriptReport) -> None:
    compiled = report.function.compile()
    for given in report.feeds:
        same(compiled(*map(np.asarray, given)), report.right(*given))


@pytest.mark.parametrize("report", cases_scripts.REPORTS, ids=str)
def test_read_back(report: ScriptReport, tmp_path: Path) -> None:
    """The model as Python, and that as a model again."""
    model = report.function.to_model_proto()
    given = next(g for g in report.feeds if len(g) == len(model.graph.input))
    path = tmp_path / "written_by_report.py"
    path.write_text(ow.to_script(model), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
        made = module.make_model()
    finally:
        del sys.modules[path.stem]
    names = [i.name for i in made.graph.input]
    feeds = dict(zip(names, map(np.asarray, given), strict=True))
    same(ow.run_model(made, feeds)[0], report.right(*given))
