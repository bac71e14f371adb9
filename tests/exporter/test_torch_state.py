"""What an export changes in torch is undone at its end, also where exports overlap in threads."""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any

import pytest
import torch
from torch._dynamo import config
from torch._subclasses import fake_impls
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import proxy

import onnxwright as ow
from onnxwright.exporter.capture.replacements.fakes import FAKES, RULES
from tests.harness.modules import module_with


def state() -> dict[str, Any]:
    """Every attribute of torch that a capture changes."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    found: dict[str, Any] = {str(op): op.py_kernels.get(key) for op in FAKES}
    found |= {f"rule {op}": fake_impls.op_implementations_dict.get(op) for op in RULES}
    found |= {n: getattr(torch.nn.Module, n) for n in ("to", "float", "double", "half", "bfloat16")}
    found["frames"] = (proxy.TracerBase._filter_traceback_frames, proxy.CapturedTraceback)
    found["distributions"] = torch.distributions.Distribution._validate_args
    found["exporting"] = (torch.onnx.is_in_onnx_export(), torch.compiler.is_exporting())
    found["cache"] = config.fake_tensor_cache_enabled
    found["stderr"] = sys.stderr
    found["logging"] = [
        (name, tuple(logging.getLogger(name).handlers), logging.getLogger(name).propagate)
        for name in ("torch", "torch.export", "torch.fx.experimental.symbolic_shapes")
    ]
    return found


@module_with(lambda before, after: {"before": before, "after": after})
def Waits(self, x: Any) -> Any:
    """Lets another thread begin its export in the middle of this one's capture."""
    self.before.set()
    self.after.wait(0.5)
    return x.float() + 1


def test_exports_that_overlap_leave_torch_as_it_was() -> None:
    """The second export begins within the first one and would end after it."""
    ow.export(torch.nn.ReLU(), (torch.ones(2),))  # what torch loads at the first export stays
    before = state()
    entered, second = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def run(model: Any) -> None:
        try:
            program = ow.export(model, (torch.ones(2),), capture="non-strict")
            assert torch.equal(program(torch.zeros(2)), torch.ones(2))
        except BaseException as error:  # noqa: BLE001 - given to the main thread
            failures.append(error)

    def late(model: Any) -> None:
        entered.wait(30)
        second.set()
        run(model)

    done = threading.Event()
    threads = [
        threading.Thread(target=run, args=(Waits(entered, done),)),
        threading.Thread(target=late, args=(Waits(threading.Event(), done),)),
        threading.Thread(target=late, args=(Waits(threading.Event(), done),)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert state() == before


def test_a_module_that_exports_another_one_does_not_wait_for_itself() -> None:
    class Outer(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x + 1

    before = state()

    def strategy(model: Any, args: Any, kwargs: Any, dims: Any) -> Any:
        ow.export(torch.nn.ReLU(), (torch.ones(2),))
        return torch.export.export(model, args, kwargs, dynamic_shapes=dims)

    ow.export(Outer(), (torch.ones(2),), capture=strategy)
    assert state() == before


def test_a_failed_capture_leaves_torch_as_it_was() -> None:
    before = state()

    def broken(x: Any) -> Any:
        raise ValueError("broken")

    with pytest.raises(ow.errors.ExportError, match="OW821"):
        ow.export(broken, (torch.ones(2),))
    assert state() == before


class Asks(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        if torch.onnx.is_in_onnx_export():
            x = x + 1
        if torch.compiler.is_exporting():
            x = x + 10
        return x


@pytest.mark.parametrize("capture", ["auto", "non-strict", "strict", "substitutes", "draft"])
def test_the_branch_for_exports_is_captured(capture: str) -> None:
    """As torch.onnx.export has it: both questions are answered with yes."""
    program = ow.export(Asks(), (torch.ones(2),), capture=capture)
    assert torch.equal(program(torch.zeros(2)), torch.full((2,), 11.0))


def test_shapes_of_dynamic_programs_are_not_kept() -> None:
    """Keys of expressions take longer to make than the shapes."""
    x, dynamic = torch.randn(3, 4), {"dynamic_shapes": ({0: torch.export.Dim.DYNAMIC},)}

    def looked_up(**options: Any) -> int:
        before = FakeTensorMode.cache_hits + FakeTensorMode.cache_misses
        ow.export(torch.nn.Linear(4, 2), (x,), **options)
        return FakeTensorMode.cache_hits + FakeTensorMode.cache_misses - before

    assert looked_up(**dynamic) == 0
    assert looked_up() > 0
