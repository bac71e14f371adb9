"""The installed onnx's backend node tests: each node's op called as a Python function."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from onnxwright.eager.ort.sessions import newest_opset

# Every n-th case runs by default; all of them with `-m slow`.
SHARE = 18


def _load_helper() -> ModuleType:
    path = Path(__file__).with_name("backend_cases.py")
    spec = importlib.util.spec_from_file_location("backend_cases", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["backend_cases"] = module
    spec.loader.exec_module(module)
    return module


bc = _load_helper()


def check(outcomes: list) -> None:
    failed = [f"{o.case}: {o.reason}" for o in outcomes if o.verdict == bc.FAIL]
    print(bc.table(outcomes))
    assert not failed, "\n".join(failed)


def test_a_share_of_the_backend_cases_passes() -> None:
    """No case of the share fails; most pass."""
    cases = bc.load()[::SHARE]
    outcomes = [bc.run_case(case) for case in cases]
    check(outcomes)
    assert sum(o.verdict == bc.PASS for o in outcomes) > 0.9 * len(outcomes)


@pytest.mark.slow
def test_all_backend_cases_pass() -> None:
    """Zero fail; at most what the runtime has no kernel for, or does its own way, is left."""
    cases = bc.load()
    assert len(cases) >= 1800
    outcomes = [bc.run_case(case) for case in cases]
    check(outcomes)
    counts = {v: sum(o.verdict == v for o in outcomes) for v in (bc.PASS, bc.NO_KERNEL, bc.RUNTIME)}
    if newest_opset() >= 26:
        # These lists only shrink; an older runtime has fewer kernels.
        assert counts[bc.NO_KERNEL] <= 90
        assert counts[bc.RUNTIME] <= 10
