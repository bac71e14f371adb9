"""Models that draw random numbers: what `verify` compares, and the warning about libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportError, OnnxwrightWarning
from tests.harness.modules import module_with

nn = torch.nn


@module_with(lambda function: {"function": function})
def Returned(self, x: Any) -> Any:
    """What a function gives, as the results of a module in evaluation mode."""
    return self.function(x)


def _chosen(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda y: y + torch.rand(2, 3), lambda y: y - 1, (x,))


_RANDOM: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    "all": (lambda x: x + torch.rand(2, 3), ["output 0"]),
    "one of two": (lambda x: (x * 2, torch.randn_like(x)), ["output 1"]),
    "items": (lambda x: x[:, torch.randint(3, (30,))], ["output 0"]),
    "a body": (_chosen, ["output 0"]),
    "dropout": (lambda x: (nn.functional.dropout(x.repeat(9, 1), 0.5, True), x + 1), ["output 0"]),
    "of a number": (lambda x: x.repeat(20, 1)[torch.rand(40) > 0.5], ["output 0"]),
    "no influence": (lambda x: x + torch.rand(2, 3) * 0, []),
    "nothing": (lambda x: (nn.functional.dropout(x, 0.5, False), x + 1), []),
}


@pytest.mark.parametrize(("function", "names"), _RANDOM.values(), ids=_RANDOM)
def test_values_are_not_compared(function: Callable[[Any], Any], names: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxwrightWarning)  # who writes `torch.rand` knows it
        program = ow.export(
            Returned(function).eval(), (torch.arange(1.0, 7.0).reshape(2, 3),), verify=True
        )
    found = program.report.verification
    assert found.random == names
    assert ("values not compared" in found.summary()) == bool(names)


def test_other_outputs_and_types_are() -> None:
    def wrong(x: Any) -> Any:
        return torch.rand(2) * x, x.double() if torch.compiler.is_exporting() else x

    with pytest.raises(ExportError, match="output 1: torch.float64"):
        ow.export(Returned(wrong), (torch.ones(2),), verify=True)

    def random(x: Any) -> Any:
        return torch.rand(3 if torch.compiler.is_exporting() else 2)

    with pytest.raises(ExportError, match=r"float32 \[3\], PyTorch has torch.float32 \[2\]"):
        ow.export(Returned(random), (torch.ones(2),), verify=True)


def test_the_first_divergence_is_not_a_draw() -> None:
    def wrong(op: Any, x: Any, other: Any) -> Any:
        return x - other

    model = Returned(lambda x: (torch.rand(2) * x, x * 3))
    assert ow.export(model, (torch.ones(2),)).first_divergence() is None
    table = {"aten::mul.Tensor": wrong}
    found = ow.export(model, (torch.ones(2),), custom_translation_table=table).first_divergence()
    assert found is not None
    assert found.node == "mul_1"


_LIBRARY = """
import torch

class Masked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x, noise=None):
        noise = torch.rand(x.shape) * torch.rand(2) if noise is None else noise
        return self.drop(x).where(noise > 0.5, 0), torch.randn(2)
"""


def test_a_library_draws(tmp_path: Path) -> None:
    """One warning for all places; none where nothing reads the numbers."""
    file = tmp_path / "site-packages" / "library.py"
    file.parent.mkdir()
    file.write_text(_LIBRARY)
    names: dict[str, Any] = {"__name__": "library"}
    exec(compile(_LIBRARY, str(file), "exec"), names)  # noqa: S102 - as an import of it
    model = names["Masked"]().eval()
    with pytest.warns(OnnxwrightWarning, match="OW889") as found:
        program = ow.export(model, (torch.ones(2),), verify=True)
    (text,) = {str(w.message) for w in found}
    assert text.count("library.py:10:") == 1
    assert "library.py:11:" in text.partition("and at")[2]
    assert program.report.warnings == [text]
    with pytest.warns(OnnxwrightWarning, match="OW832") as found:
        ow.export(model.train(), (torch.ones(2),))
    assert not any("OW889" in str(w.message) for w in found)
    with pytest.warns(OnnxwrightWarning, match="OW839.*training") as found:
        ow.export(Returned(lambda x: model.eval()(x, x)[0]), (torch.ones(2),))
    assert not any("OW889" in str(w.message) for w in found)


def test_a_seed_in_a_model_has_no_effect() -> None:
    def seeded(x: Any) -> Any:
        torch.manual_seed(3)
        return x + torch.randn(2)

    with pytest.warns(OnnxwrightWarning, match="OW860(.*\n)*.*manual_seed") as found:
        program = ow.export(Returned(seeded).eval(), (torch.ones(2),), verify=True)
    assert len(found) == 1
    assert program.report.verification.random == ["output 0"]
