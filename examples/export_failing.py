"""An export that fails, its report, and how the missing operator is given.

`report=` writes a page about the export, also when it fails: which nodes, with their types, their
module and their line. `custom_translation_table` gives the function that was missing.
"""

from pathlib import Path

import torch

import onnxwright as ow


@torch.library.custom_op("example::snake", mutates_args=())
def snake(x: torch.Tensor, frequency: float) -> torch.Tensor:
    """An activation that PyTorch does not have: x + sin(f*x)^2 / f."""
    return x + torch.sin(frequency * x) ** 2 / frequency


@snake.register_fake
def _(x: torch.Tensor, frequency: float) -> torch.Tensor:  # noqa: ARG001 - only the shape counts
    return torch.empty_like(x)


class Wave(torch.nn.Module):
    """A linear layer and the activation."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, 8) to (batch, 4)."""
        return snake(self.linear(x), 2.0)


torch.manual_seed(0)
model = torch.nn.Sequential(Wave(), torch.nn.ReLU()).eval()
x = torch.randn(2, 8)

try:
    ow.export(model, (x,), dynamic_shapes=({0: "batch"},), report="failed")
except ow.ExportError as error:
    print(error)
    for node in error.report.failures:
        print(node.target, node.inputs, "->", node.outputs, "in module", node.module)
print([path.name for path in sorted(Path().glob("failed.*"))])


def snake_in_onnx(op, x, frequency):
    """What the message asks for: the operator's arguments after `op`."""
    return x + op.Sin(x * frequency) ** 2 / frequency


program = ow.export(
    model,
    (x,),
    dynamic_shapes=({0: "batch"},),
    custom_translation_table={snake: snake_in_onnx},
    verify=True,
    report="done",
)
print(program)
print(program.report.verification.summary().split(",")[0])
