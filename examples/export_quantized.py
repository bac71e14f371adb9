"""A quantized PyTorch model as ONNX: weights of eight bits, QuantizeLinear around Gemm."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.ao.quantization as aq

import onnxwright as ow


class Net(torch.nn.Module):
    """A layer between the stubs of eager-mode quantization."""

    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = aq.QuantStub(), aq.DeQuantStub()
        self.layer = torch.nn.Linear(64, 16)

    def forward(self, x: Any) -> Any:
        """Quantize, compute, and give floats back."""
        return self.dequant(torch.relu(self.layer(self.quant(x))))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # torch says of this API that torchao takes it over
    torch.manual_seed(0)
    x = torch.randn(32, 64)
    model = Net().eval()
    model.qconfig = aq.default_qconfig
    ready = aq.prepare(model)
    ready(x)  # calibrates the scales
    quantized = aq.convert(ready)

    program = ow.export(quantized, (x,), dynamic_shapes=({0: "batch"},))
    weight = program.model.graph.initializers["layer._packed_params.weight_int"]
    print([node.op_type for node in program.model.graph])
    print(weight.dtype.name, list(weight.shape))
    worst = float((program(x) - quantized(x)).abs().max())
    assert worst <= 1.01 * quantized.layer.scale, worst
