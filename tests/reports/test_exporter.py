"""Public reports about exporting PyTorch: a small program for each, compared at other sizes."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import OnnxwrightWarning
from tests.harness.modules import Of
from tests.reports import exporter_programs
from tests.reports.exporter_programs import Report
from tests.reports.exporter_sequences import SEQUENCES

REPORTS = {**exporter_programs.REPORTS, **SEQUENCES}


def module_of(report: Report) -> Any:
    torch.manual_seed(0)
    return report.make().eval() if report.is_module else Of(report.make).eval()


def compare(program: Any, module: Any, inputs: tuple[Any, ...], near: float) -> None:
    """Compare the model with the module in values, shapes and types."""
    copied = torch.utils._pytree.tree_map(lambda x: x.clone(), inputs)
    wanted = module(*copied)
    got = program(*inputs)
    half = any(t.dtype == torch.float16 for t in torch.utils._pytree.tree_leaves(inputs))
    rtol, atol = (1e-2, 1e-2) if half else (1e-4, near)
    torch.testing.assert_close(got, wanted, equal_nan=True, rtol=rtol, atol=atol)


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * r.slow) for n, r in REPORTS.items()]
)
def test_the_program_of_a_report_is_exported_right(name: str) -> None:
    report = REPORTS[name]
    module = module_of(report)
    shapes = report.shapes
    if shapes is not None and not report.is_module:
        shapes = (shapes,)  # of `*args`
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        torch.manual_seed(1)
        program = ow.export(module, report.inputs(0), dynamic_shapes=shapes, **report.options)
        for number in range(3 if shapes is not None else 1):
            compare(program, module, report.inputs(number), report.near)
    if report.silent:
        assert not [w.message for w in said if isinstance(w.message, OnnxwrightWarning)]
    sizes = [d for v in program.model.graph.inputs for d in v.shape]
    if shapes is not None:
        assert any(not isinstance(d, int) for d in sizes), "a size was lost"


def test_every_report_is_named() -> None:
    assert len(REPORTS) >= 40
    for report in REPORTS.values():
        assert re.match(r"[\w-]+/[\w-]+(#\d+| \()", report.issue), report.issue
