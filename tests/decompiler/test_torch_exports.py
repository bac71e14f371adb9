"""Models that PyTorch exports come back the same: traced ones, optimized ones and plain ones.

Needs torch; the exporter that captures whole programs needs onnxscript too.  Each case says what it
lacks where it is skipped.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import onnx
import pytest

from onnxwright.decompiler import to_script
from onnxwright.decompiler.rebuild import rebuild
from onnxwright.testing import assert_isomorphic

pytestmark = pytest.mark.slow


def networks() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Name -> (module, inputs)."""
    import torch
    from torch import nn

    from tests.harness.modules import module_with

    @module_with(lambda: {"inner": nn.MultiheadAttention(8, 2, batch_first=True)})
    def Attention(self, x: Any) -> Any:
        return self.inner(x, x, x, need_weights=False)[0]

    @module_with(lambda kind: {"inner": getattr(nn, kind)(4, 5, batch_first=True)})
    def Recurrent(self, x: Any) -> Any:
        return self.inner(x)[0]

    @module_with(lambda function: {"function": function})
    def Function(self, *inputs: Any) -> Any:
        return self.function(*inputs)

    @module_with(lambda: {"a": nn.Conv2d(3, 3, 3, padding=1), "b": nn.BatchNorm2d(3)})
    def Residual(self, x: Any) -> Any:
        return torch.relu(x + self.b(self.a(x)))

    image, text, row = torch.randn(2, 3, 8, 8), torch.randn(2, 5, 8), torch.randn(2, 4)
    steps, ids = torch.randn(2, 3, 4), torch.randint(0, 9, (2, 5))
    return {
        "linear": (nn.Linear(4, 3), (row,)),
        "mlp": (nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(), nn.Linear(8, 2)), (row,)),
        "conv": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2)), (image,)),
        "residual": (Residual(), (image,)),
        "norms": (nn.Sequential(nn.LayerNorm(8), nn.Softmax(-1)), (text,)),
        "groups": (nn.GroupNorm(3, 3), (image,)),
        "embedding": (nn.Embedding(9, 4), (ids,)),
        "attention": (Attention(), (text,)),
        "encoder": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (text,)),
        "lstm": (Recurrent("LSTM"), (steps,)),
        "gru": (Recurrent("GRU"), (steps,)),
        "upsample": (nn.Upsample(scale_factor=2), (image,)),
        "pad": (nn.ReflectionPad2d(1), (image,)),
        "pool": (nn.AdaptiveAvgPool2d(2), (image,)),
        "transposed": (nn.ConvTranspose2d(3, 2, 3), (image,)),
        "slices": (Function(lambda x: x[:, 1:, ::2, -3:] * 2 + 1), (image,)),
        "gather": (Function(lambda x, i: x[i[0] % 2]), (text, ids)),
        "topk": (Function(lambda x: torch.topk(x, 2, dim=-1)), (text,)),
        "einsum": (Function(lambda x: torch.einsum("bij,bkj->bik", x, x)), (text,)),
        "where": (Function(lambda x: torch.where(x > 0, x, x.exp()).cumsum(-1)), (text,)),
        "reduce": (Function(lambda x: (x.mean(-1), x.amax((1, 2)), x.var(0))), (text,)),
        "split": (Function(lambda x: torch.cat(x.chunk(2, -1)[::-1], -1)), (text,)),
        "types": (Function(lambda x: (x.to(torch.float16), x.long(), x > 1, x.double())), (text,)),
        "concat": (Function(lambda x, y: torch.stack([x, y]).permute(2, 0, 1)), (row, row)),
    }


NAMES = (
    "linear mlp conv residual norms groups embedding attention encoder lstm gru upsample pad pool "
    "transposed slices gather topk einsum where reduce split types concat"
).split()


# What torch's older exporter does not take.
NOT_TRACED = dict.fromkeys(
    ("attention", "encoder"), "tracing makes a tensor of a flag that torch wants as a bool"
)


def exported(name: str, way: str) -> onnx.ModelProto:
    """A network as PyTorch exports it."""
    torch = pytest.importorskip("torch", reason="the models come from torch's exporters")
    if way != "traced":
        pytest.importorskip("onnxscript", reason="torch's exporter of whole programs needs it")
    module, inputs = networks()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if way == "traced":
            if name in NOT_TRACED:
                pytest.skip(NOT_TRACED[name])
            file = io.BytesIO()
            torch.onnx.export(module.eval(), inputs, file, dynamo=False)
            return onnx.load_from_string(file.getvalue())
        program = torch.onnx.export(
            module.eval(), inputs, dynamo=True, optimize=way == "optimized", verbose=False
        )
    assert program is not None
    proto: onnx.ModelProto = program.model_proto
    return proto


@pytest.mark.parametrize("way", ["traced", "optimized", "plain"])
@pytest.mark.parametrize("name", NAMES)
def test_an_exported_network_comes_back(name: str, way: str) -> None:
    model = exported(name, way)
    source = to_script(model)
    assert_isomorphic(model, rebuild(source))
    assert to_script(rebuild(source)) == source
