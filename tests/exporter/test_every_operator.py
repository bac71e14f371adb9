"""Every OpInfo of PyTorch exported as a module of one operator, and its model run.

The default run is a fixed share: of each dtype one OpInfo in so many, chosen by a hash of its name,
with its first sample.  All OpInfos, and the samples that torch.onnx was measured with, are

    pytest -m slow tests/exporter/test_every_operator.py -n auto

and `onnxwright sweep --mode export` runs all samples and writes reports.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("expecttest", reason="torch's OpInfos import it")

from torch.testing._internal.opinfo.core import SampleInput  # noqa: E402

from onnxwright.atenlib import OpTest, XFail  # noqa: E402
from onnxwright.exporter import export  # noqa: E402
from onnxwright.sweep import export as sweep_export  # noqa: E402
from onnxwright.sweep.export import KNOWN, Fails  # noqa: E402
from onnxwright.sweep.units import Outcome, Unit, infos  # noqa: E402
from tests.harness.tables import each

THEIRS = Path(__file__).parent.parent / "atenlib" / "torch_onnx_opinfos.json"
"""What torch.onnx exports right: float32, two samples of each OpInfo."""

ONE_IN = {"float32": 8, "float16": 60, "int64": 45, "complex64": 60, "bool": 60, "bfloat16": 60}
"""The share of the default run."""

UNITS = sweep_export.export_units()


def is_in_share(unit: Unit) -> bool:
    """Whether a unit is in the default run; the same answer on every machine."""
    every = ONE_IN.get(unit.dtype)
    return every is not None and zlib.crc32(unit.key.encode()) % every == 0


def hold(unit: Unit, limit: int) -> list[Outcome]:
    """A unit has no wrong sample."""
    outcomes = list(sweep_export.run_export(unit, limit))
    assert outcomes, "it has no sample"
    wrong = [f"#{o.sample} {o.status}: {o.why}" for o in outcomes if o.is_wrong]
    assert not wrong, "\n".join(wrong)
    return outcomes


@pytest.mark.parametrize("unit", [*filter(is_in_share, UNITS)], ids=lambda unit: unit.key)
def test_a_share_of_the_operators(unit: Unit) -> None:
    """The first sample."""
    hold(unit, 1)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.key)
def test_every_operator(unit: Unit) -> None:
    """Two samples; in float32 none of those that torch.onnx exports may fail, even as expected."""
    outcomes = hold(unit, sweep_export.FEW)
    if unit.dtype == "float32" and unit.test.name in NAMES - BY_A_VALUE:
        assert {o.status for o in outcomes} <= {"passed", "refused"}


NAMES = frozenset(json.loads(THEIRS.read_text(encoding="utf-8")))
# torch.onnx fails as well where the number of parts, of its second sample, is an input.
BY_A_VALUE = {"tensor_split"}


def test_what_torch_onnx_exports_is_run_and_expected_to_pass() -> None:
    """Each is a unit here, and none is known to fail in float32."""
    assert {u.test.name for u in UNITS if u.dtype == "float32"} >= NAMES
    failing = {
        name
        for name, known in KNOWN.items()
        if any(not k.dtypes or "float32" in k.dtypes for k in known)
    }
    assert failing & NAMES == BY_A_VALUE


@each("name", sorted(KNOWN))
def test_known_failures_name_what_there_is(name: str) -> None:
    """An OpInfo of torch, dtypes that it supports, and a text that the failure has."""
    supported = infos()[name].supported_dtypes("cpu")
    for known in KNOWN[name]:
        assert known.reason
        assert known.says
        assert all(getattr(torch, dtype) in supported for dtype in known.dtypes)


# -- the comparison itself -------------------------------------------------------------------------


class Info:
    """An OpInfo of one sample."""

    def __init__(self, operator: Any, *args: Any, failing: bool = False) -> None:
        self.op = operator
        self.args = args
        self.failing = failing

    def sample_inputs(self, *_: Any, **__: Any) -> Iterator[Any]:
        """The sample."""
        torch.manual_seed(0)
        yield SampleInput(torch.randn(3), args=self.args)
        if self.failing:
            raise ValueError("no more")


def outcomes_of(
    monkeypatch: pytest.MonkeyPatch, info: Info, test: OpTest | None = None, *known: Fails
) -> list[Outcome]:
    monkeypatch.setattr(sweep_export, "infos", lambda: {"it": info})
    monkeypatch.setattr(sweep_export, "KNOWN", {"it": list(known)})
    unit = Unit(sweep_export.EXPORTER, test or OpTest("it"), "float32")
    return list(sweep_export.run_export(unit))


def two(found: list[Outcome]) -> list[tuple[str, str]]:
    return [(o.status, o.why) for o in found]


def test_a_right_export_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert two(outcomes_of(monkeypatch, Info(torch.add, 2))) == [("passed", "")]


def test_random_numbers_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert two(outcomes_of(monkeypatch, Info(torch.rand_like))) == [("passed", "")]


class Counter:
    """Gives something else with each call."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return x + self.calls


def test_another_result_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    ((status, why),) = two(outcomes_of(monkeypatch, Info(Counter())))
    assert status == "failed"
    assert why.startswith("result 0: Tensor-likes are not close")


def test_what_torch_refuses_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcomes_of(monkeypatch, Info(torch.cholesky_inverse, failing=True))
    assert [o.status for o in found] == ["refused", "refused"]
    assert sweep_export.verdict(found) == "refused"


def test_known_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that fails as said, one that fails otherwise, and two that pass."""
    known = Fails("no sparse tensors", says="OW838")
    sparse, dense = Info(torch.Tensor.to_sparse), Info(torch.neg)
    assert two(outcomes_of(monkeypatch, sparse, None, known)) == [("xfailed", "no sparse tensors")]
    other = Fails("no sparse tensors", says="OW821")
    ((status, why),) = two(outcomes_of(monkeypatch, sparse, None, other))
    assert (status, why.endswith("(expected: OW821)")) == ("failed", True)
    assert two(outcomes_of(monkeypatch, dense, None, known)) == [
        ("xpassed", "expected: no sparse tensors")
    ]
    never = Fails("no sparse tensors", says="OW838", matcher=lambda _: False)
    assert two(outcomes_of(monkeypatch, dense, None, never)) == [("passed", "")]


def test_failures_that_the_table_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may pass: an export can have other inputs than a recorded run."""
    test = OpTest("it", xfail=[XFail("no kernel", modes=("graph",))])
    assert two(outcomes_of(monkeypatch, Info(Counter()), test)) == [("xfailed", "no kernel")]
    assert two(outcomes_of(monkeypatch, Info(torch.neg), test)) == [("passed", "")]


def test_values_that_decide_in_python() -> None:
    """Functions of torch that look at values, and shapes that torch does not tell."""
    x = torch.arange(12.0).reshape(3, 4)
    for function in (torch.equal, torch.allclose):
        program = export(function, (x, x.clone()))
        assert program(x, x) is True
        assert program(x, x + 1) is False
    for function in (torch.cov, torch.corrcoef):
        torch.testing.assert_close(export(function, (x,))(x * x), function(x * x))
    program = export(lambda x, n: torch.narrow(x, 1, n, 2), (x, torch.tensor(1)))
    for start in (0, 2, -3):
        n = torch.tensor(start)
        assert torch.equal(program(x, n), torch.narrow(x, 1, n, 2))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_that_check_values(full: bool, reduction: str) -> None:
    torch.manual_seed(0)
    loss = torch.nn.GaussianNLLLoss(full=full, reduction=reduction)
    mean, target = torch.randn(2, 3), torch.randn(2, 3)
    for variance in (torch.rand(2, 3), torch.rand(2, 1), torch.rand(2)):
        program = export(loss, (mean, target, variance))
        torch.testing.assert_close(
            program(target, mean, variance / 2), loss(target, mean, variance / 2)
        )


def test_a_model_without_outputs_needs_no_runtime() -> None:
    program = export(lambda x: (x.shape[0], "mean"), (torch.ones(3),))
    assert program(torch.zeros(3)) == (3, "mean")


def test_classes_as_many_as_the_largest_value_says() -> None:
    program = export(torch.nn.functional.one_hot, (torch.tensor([0, 2]),))
    for values in ([0, 2], [4, 1]):
        x = torch.tensor(values)
        assert torch.equal(program(x), torch.nn.functional.one_hot(x))


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd"])
def test_least_squares(driver: str) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(4, 3), torch.randn(4, 2)
    solve = lambda a, b: tuple(torch.linalg.lstsq(a, b, driver=driver))  # noqa: E731
    for ours, theirs in zip(export(solve, (a, b))(2 * a, b), solve(2 * a, b), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
