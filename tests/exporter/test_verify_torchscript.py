"""`verify` of TorchScript runs the script itself, also where PyTorch cannot run the capture."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import onnxwright as ow

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


class Named(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        y = {"twice": x * 2}
        y["sum"] = x.sum()
        return y


class Nested(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        y = {"a": [x, x + 1]}
        y["b"] = [x - 1]
        return y, x.sum()


class Lists(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        found = [x]
        for n in range(3):
            found.append(x + n)
        found[0] = x * 5
        return found


class Counts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor):
        self.count += 1
        return self.linear(x) + self.count


def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@pytest.mark.parametrize("make", [Named, Nested, Lists, Counts])
def test_scripted_modules_are_verified(make: Any) -> None:
    module = torch.jit.script(make().eval())
    before = {name: x.clone() for name, x in module.named_buffers()}
    program = ow.export(module, (torch.ones(2, 3),), dynamic_shapes=({0: "n"},), verify=True)
    found = program.report.verification
    assert found.ok
    assert {check.run for check in found.outputs} >= {"given", "other sizes"}
    assert all(torch.equal(x, before[name]) for name, x in module.named_buffers())


def test_scripted_functions_and_traces_are_verified() -> None:
    for script in (torch.jit.script(twice), torch.jit.trace(twice, torch.ones(2))):
        assert ow.export(script, (torch.ones(2),), verify=True).report.verification.ok


def test_a_wrong_function_is_found_in_a_script() -> None:
    table = {"aten::mul.Tensor": lambda op, a, b: op.Add(a, op.CastLike(b, a))}
    with pytest.raises(ow.ExportError, match="OW828"):
        ow.export(
            torch.jit.script(Named()), (torch.ones(2, 3),), custom_translation_table=table,
            verify=True,
        )  # fmt: skip
