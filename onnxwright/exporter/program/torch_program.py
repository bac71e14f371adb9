"""`ONNXProgram` as torch.onnx has it: a call gives a flat tuple of tensors."""

from __future__ import annotations

from typing import Any

import torch
from typing_extensions import Self

from onnxwright.exporter.program.onnx_program import ONNXProgram


class TorchONNXProgram(ONNXProgram):
    """An exported program that is called as `torch.onnx.ONNXProgram` is.

    Everything else is as in `onnxwright.exporter.ONNXProgram`.

    Source:
        torch.onnx.ONNXProgram of PyTorch 2.13.

    Example:
        >>> import torch
        >>> from onnxwright import torch_onnx
        >>> program = torch_onnx.export(torch.nn.ReLU(), (torch.ones(2),))
        >>> program(torch.tensor([-1.0, 3.0]))
        (tensor([0., 3.]),)
    """

    @classmethod
    def of(cls, program: ONNXProgram) -> Self:
        """The same program with torch.onnx's calls."""
        torch_program = cls(program._built, program._captured, program.report, program._settings)
        torch_program.external_data = program.external_data
        return torch_program

    def flat_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Arguments of the module, flattened; they may be flat already."""
        if not kwargs and self.is_flat(args):
            return list(args)
        return super().flat_inputs(args, kwargs)

    def nested(self, arrays: Any) -> tuple[torch.Tensor, ...]:
        """The outputs of the module as a flat tuple, complex ones as pairs of real numbers."""
        return self.flat_results(arrays)
