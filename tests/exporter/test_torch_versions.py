"""Nineteen exports of different kinds, which hold for every version of PyTorch that is supported.

`python -m tools.matrix --torch 2.10.0` runs this file in an environment with that version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import onnxwright as ow
from tests.harness.modules import module_with

nn = torch.nn
Case = tuple[Any, tuple[Any, ...], dict[str, Any]]
CASES: dict[str, Callable[[], Case]] = {}


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    """Add a program: a function that gives the module, its arguments and the options."""
    CASES[make.__name__] = make
    return make


class Body(nn.Module):
    """A module whose `forward` is a function."""

    def __init__(self, function: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *args: Any) -> Any:
        return self.function(self, *args)


def mlp_of() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


@case
def mlp() -> Case:
    return mlp_of(), (torch.randn(2, 4),), {"operators": ["Gemm", "Relu"]}


@case
def dynamic_batch() -> Case:
    shapes = ({0: "batch"},)
    more = [(torch.randn(5, 4),)]
    return mlp_of(), (torch.randn(3, 4),), {"dynamic_shapes": shapes, "verify": more}


@case
def convolutions() -> Case:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5),
    )  # fmt: skip
    return model, (torch.randn(2, 3, 16, 16),), {"operators": ["Conv", "MaxPool"]}


@module_with(lambda: {"lstm": nn.LSTM(4, 6, batch_first=True)})
def _Recurrent(self, x: Any) -> Any:
    y, (h, _) = self.lstm(x)
    return y, h


@case
def lstm() -> Case:
    options = {"dynamic_shapes": ({0: "batch", 1: "time"},), "operators": ["LSTM"]}
    return _Recurrent(), (torch.randn(3, 5, 4),), options | {"verify": [(torch.randn(2, 7, 4),)]}


@case
def attention() -> Case:
    def run(self: Any, x: Any) -> Any:
        y, _ = self.mha(x, x, x, need_weights=False)
        z = x.unflatten(-1, (2, 4)).transpose(1, 2)
        return y, nn.functional.scaled_dot_product_attention(z, z, z, is_causal=True)

    model = Body(run, mha=nn.MultiheadAttention(8, 2, batch_first=True))
    options = {"dynamic_shapes": (({0: "batch", 1: "length"},),)}
    return model, (torch.randn(2, 6, 8),), options | {"verify": [(torch.randn(3, 9, 8),)]}


class _DecidesByData(nn.Module):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            return x * 2
        return x - 1


@case
def decision_by_data() -> Case:
    x = torch.ones(2, 3)
    return _DecidesByData(), (x,), {"operators": ["If"], "verify": [(-x,)]}


class _Loops(nn.Module):
    def forward(self, x: Any) -> Any:
        total = torch.zeros_like(x)
        while total.sum() < 10:
            total = total + x.abs() + 1
        return total


@case
def loop() -> Case:
    x = torch.ones(3)
    return _Loops(), (x,), {"operators": ["Loop"], "verify": [(x * 2,), (x * 20,)]}


class _DecidesBySize(nn.Module):
    def forward(self, x: Any) -> Any:
        if x.shape[0] > 4:
            return x.sum(0)
        return x.mean(0)


@case
def decision_by_size() -> Case:
    options = {"dynamic_shapes": ({0: "n"},), "operators": ["If"]}
    return _DecidesBySize(), (torch.randn(6, 3),), options | {"verify": [(torch.randn(3, 3),)]}


class _Lists(nn.Module):
    def forward(self, x: Any) -> Any:
        rows = []
        for row in x:
            rows.append(row * len(rows))
        return torch.stack(rows), rows[-1]


@case
def list_of_rows() -> Case:
    return _Lists(), (torch.randn(4, 3),), {}


@module_with(lambda: {"qkv": nn.Linear(4, 12)})
def _Cached(self, x: Any, cache: dict[str, Any]) -> Any:
    q, k, v = self.qkv(x).chunk(3, -1)
    k, v = torch.cat([cache["key"], k], 1), torch.cat([cache["value"], v], 1)
    weights = torch.softmax(q @ k.transpose(1, 2), -1)
    return weights @ v, {"key": k, "value": v}


@case
def cache() -> Case:
    def of(length: int) -> tuple[Any, Any]:
        past = {"key": torch.randn(2, length, 4), "value": torch.randn(2, length, 4)}
        return torch.randn(2, 1, 4), past

    shapes = (None, {"key": {1: "past"}, "value": {1: "past"}})
    return _Cached(), of(5), {"dynamic_shapes": shapes, "verify": [of(8)]}


@case
def quantized() -> Case:
    def run(self: Any, x: Any) -> Any:
        scale, zero = 0.05, 3
        q = torch.ops.quantized_decomposed.quantize_per_tensor(x, scale, zero, 0, 255, torch.uint8)
        dequantize = torch.ops.quantized_decomposed.dequantize_per_tensor
        return dequantize(q, scale, zero, 0, 255, torch.uint8)

    from torch.ao.quantization.fx import _decomposed  # noqa: F401 - it registers the operators

    return Body(run), (torch.randn(2, 3),), {"operators": ["QuantizeLinear", "DequantizeLinear"]}


class _Spectrum(nn.Module):
    def forward(self, x: Any) -> Any:
        spectrum = torch.fft.rfft(x)
        return torch.fft.irfft(spectrum * 1j, n=x.shape[-1]), spectrum.abs()


@case
def complex_numbers() -> Case:
    return _Spectrum(), (torch.randn(2, 16),), {}


@torch.library.custom_op("onnxwright_versions::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x: Any) -> Any:
    return torch.empty_like(x)


def _twice(op: Any, x: Any) -> Any:
    return op.Add(x, x)


@case
def custom_operator() -> Case:
    def run(self: Any, x: Any) -> Any:
        return torch.ops.onnxwright_versions.twice(x) + 1

    table = {torch.ops.onnxwright_versions.twice.default: _twice}
    return Body(run), (torch.randn(3),), {"custom_translation_table": table, "operators": ["Add"]}


class _Nested(nn.Module):
    def forward(self, parts: dict[str, list[Any]]) -> Any:
        left, right = parts["pair"]
        return {"sum": left + right, "rest": (parts["one"][0] * 2,)}


@case
def nested_inputs() -> Case:
    parts = {"pair": [torch.randn(2), torch.randn(2)], "one": [torch.randn(3)]}
    return _Nested(), (parts,), {}


class _Keywords(nn.Module):
    def forward(self, x: Any, *, scale: Any, shift: Any = None) -> Any:
        return x * scale if shift is None else x * scale + shift


@case
def keywords() -> Case:
    kwargs = {"scale": torch.randn(3), "shift": torch.randn(1)}
    return _Keywords(), (torch.randn(2, 3),), {"kwargs": kwargs}


@module_with(lambda: {"seen": torch.nn.Buffer(torch.zeros(3))})
def _Counts(self, x: Any) -> Any:
    self.seen.add_(x.sum(0))
    return x - self.seen


@case
def buffer_mutation() -> Case:
    return _Counts(), (torch.randn(2, 3),), {}


@case
def bfloat16() -> Case:
    return mlp_of().to(torch.bfloat16), (torch.randn(2, 4, dtype=torch.bfloat16),), {}


@case
def verified() -> Case:
    options = {"dynamic_shapes": True, "verify": True, "target": "any"}
    return nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU()), (torch.randn(3, 4),), options


@case
def transformers_model() -> Case:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, use_cache=False,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    ids = torch.arange(6).reshape(1, 6)
    options = {"dynamic_shapes": {"input_ids": {1: "length"}}, "kwargs": {"input_ids": ids}}
    return model, (), options | {"verify": [{"input_ids": torch.arange(9).reshape(1, 9)}]}


@pytest.mark.share(3)  # `tools.matrix` runs all, with each version
@pytest.mark.parametrize("name", list(CASES))
def test_a_program_is_exported_as_torch_runs_it(name: str) -> None:
    torch.manual_seed(0)
    model, args, options = CASES[name]()
    operators = options.pop("operators", ())
    program = ow.export(model.eval(), args, **{"verify": True, **options})
    there = {node.op_type for node in program.model.graph}
    assert set(operators) <= there, there
