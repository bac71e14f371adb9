"""`target=`: nodes in wider types for ONNX Runtime's CPU, or as they are for any runtime."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
import torch

import onnxwright as ow
from onnxwright import errors
from tests.harness.modules import module_with


@module_with(lambda: {"conv": torch.nn.Conv1d(2, 3, 2), "linear": torch.nn.Linear(4, 2)})
def Network(self, x: Any) -> Any:
    """A convolution, an activation and a linear layer."""
    return self.linear(torch.relu(self.conv(x)))


def _export(dtype: Any, **options: Any) -> Any:
    torch.manual_seed(0)
    x = torch.randn(1, 2, 5).to(dtype)
    return ow.export(Network().to(dtype).eval(), (x,), **options), x


def _kinds(program: Any) -> list[str]:
    return [node.op_type for node in program.model.graph]


def test_any_runtime_is_given_no_casts() -> None:
    """A bfloat16 convolution is one Conv; by default it computes in float between Casts."""
    plain, _ = _export(torch.bfloat16, target="any")
    assert "Cast" not in _kinds(plain)
    assert _kinds(plain)[:2] == ["Conv", "Relu"]
    onnx.checker.check_model(plain.model_proto, full_check=True)
    default, x = _export(torch.bfloat16)
    assert "Cast" in _kinds(default)
    assert default(x).dtype == torch.bfloat16
    assert plain.report.target == "any"
    assert default.report.target == "onnxruntime-cpu"


def test_what_onnx_runtime_lacks_is_named() -> None:
    program, x = _export(torch.bfloat16, target="any")
    for use in (
        lambda: program(x),
        program.initialize_inference_session,
        program.first_divergence,
    ):
        with pytest.raises(errors.ExportError, match="OW831") as caught:
            use()
        text = str(caught.value)
        assert "no kernel for Conv of BFLOAT16" in text
        assert "target='onnxruntime-cpu'" in text
    (problem,) = program.verify().problems
    assert "no kernel for Conv of BFLOAT16" in problem


def test_float_is_the_same_for_both() -> None:
    plain, x = _export(torch.float32, target="any")
    default, _ = _export(torch.float32)
    assert plain.model_proto.SerializeToString() == default.model_proto.SerializeToString()
    torch.testing.assert_close(plain(x), default(x))


def test_schemas_without_the_type_are_still_widened() -> None:
    """Conv takes BFLOAT16 from opset 22 on: before, the model would not be valid."""
    plain, _ = _export(torch.bfloat16, target="any", opset_version=18)
    assert "Cast" in _kinds(plain)
    onnx.checker.check_model(plain.model_proto, full_check=True)


def test_an_unknown_target_is_said() -> None:
    with pytest.raises(errors.ExportValueError, match="choose 'onnxruntime-cpu' or 'any'"):
        _export(torch.float32, target="cuda")


class Grouped(torch.nn.Module):  # type: ignore[misc]
    """Normalizes 3 groups of 6 channels."""

    def __init__(self, affine: bool) -> None:
        super().__init__()
        self.norm = torch.nn.GroupNorm(3, 6, affine=affine)
        if affine:
            torch.nn.init.normal_(self.norm.weight)
            torch.nn.init.normal_(self.norm.bias)

    def forward(self, x: Any) -> Any:
        return self.norm(x)


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("opset", [18, 20, 21, 23])
def test_group_norm_is_what_the_runtime_has_a_kernel_for(opset: int, dtype: str) -> None:
    """ONNX Runtime has no kernel for GroupNormalization; other runtimes are given the operator."""
    torch.manual_seed(0)
    kind = getattr(torch, dtype)
    tolerance = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 4e-2, "float64": 1e-9}[dtype]
    for affine in (True, False):
        module = Grouped(affine).to(kind).eval()
        x = torch.randn(2, 6, 4, 5).to(kind)
        dims = ({0: "batch", 2: "height"},)
        for dynamic, sizes in ((None, [(2, 6, 4, 5)]), (dims, [(2, 6, 4, 5), (3, 6, 7, 5)])):
            program = ow.export(module, (x,), dynamic_shapes=dynamic, opset_version=opset)
            kinds = set(_kinds(program))
            assert "GroupNormalization" not in kinds
            assert ("InstanceNormalization" in kinds) == (dtype != "float64")
            for size in sizes:
                y = torch.randn(size).to(kind)
                torch.testing.assert_close(program(y), module(y), rtol=tolerance, atol=tolerance)
        any_runtime = ow.export(module, (x,), opset_version=opset, target="any")
        expected = opset >= 21 and dtype != "float64"
        assert ("GroupNormalization" in _kinds(any_runtime)) == expected
