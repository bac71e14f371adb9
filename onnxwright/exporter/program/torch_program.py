"""`ONNXProgram` as torch.onnx has it: a call gives a flat tuple of tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch.export.graph_signature import OutputKind
from torch.utils import _pytree as pytree
from typing_extensions import Self

from onnxwright.exporter.program.onnx_program import ONNXProgram
from onnxwright.exporter.torch_types import to_torch

# Our ways of capture by the names that torch.onnx has for its own.
_STRATEGIES = {
    "non-strict": "TorchExportNonStrictStrategy",
    "strict": "TorchExportStrictStrategy",
    "draft": "TorchExportDraftExportStrategy",
}


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
        """The same program with torch.onnx's calls.

        Args:
            program: what `export` gave.
        """
        made = cls(program._built, program._captured, program.report, program._settings)
        made.external_data = program.external_data
        return made

    @property
    def _capture_strategy(self) -> str | None:
        """How it was captured; `torch.onnx.testing.assert_onnx_program` asks."""
        names = [o.strategy for o in self.report.captures if not o.error]
        return _STRATEGIES.get(names[-1], names[-1]) if names else None

    def flat_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Arguments of the module, flattened; they may be flat already."""
        entries = self.user_inputs()
        leaf = all(pytree.tree_structure(a).is_leaf() for a in args)
        if not kwargs and len(args) == len(entries) and leaf:
            return list(args)
        return super().flat_inputs(args, kwargs)

    def nested(self, arrays: Any) -> tuple[torch.Tensor, ...]:
        """The outputs of the module as a flat tuple, complex ones as pairs of real numbers."""
        by_name = {v.name: a for v, a in zip(self.model.graph.outputs, arrays, strict=True)}
        found = []
        for entry, name in self._built.outputs:
            if entry.kind is not OutputKind.USER_OUTPUT:
                continue
            if entry.constant:
                if entry.value is not None:
                    found.append(torch.as_tensor(entry.value))
            elif name is not None:
                found.append(to_torch(by_name[name]))
        return tuple(found)


__all__ = ["TorchONNXProgram"]
