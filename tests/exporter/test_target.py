"""`target=`: nodes in wider types for ONNX Runtime's CPU, or as they are for any runtime."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import onnx  # noqa: E402 - after torch is known to be there

import onnxwright as ow  # noqa: E402
from onnxwright import errors  # noqa: E402


class Network(torch.nn.Module):  # type: ignore[misc]
    """A convolution, an activation and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv1d(2, 3, 2)
        self.linear = torch.nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
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
