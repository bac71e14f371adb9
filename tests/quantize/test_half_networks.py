"""`to_half` of networks of transformers: at most twice the error of the module's own `.half()`."""

from __future__ import annotations

import copy
from typing import Any

import onnxruntime
import pytest

torch = pytest.importorskip("torch", reason="the networks are modules of PyTorch")
pytest.importorskip("transformers", reason="the networks are of transformers")

import onnxwright as ow  # noqa: E402 - after the check for torch
from tests.exporter import networks  # noqa: E402 - after the check for torch

NAMES = ("bert", "gpt2", "gemma3", "t5")
MORE = ("roberta", "deberta", "modernbert", "llama", "bloom", "opt", "phi3", "mistral")
ALL = [*NAMES, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE)]


def tensors(values: Any) -> list[Any]:
    leaves = torch.utils._pytree.tree_leaves(values)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def floats(values: Any) -> list[Any]:
    return [t.detach().double() for t in tensors(values) if t.is_floating_point()]


def farthest(found: list[Any], wanted: list[Any]) -> float:
    pairs = zip(found, wanted, strict=True)
    return max(float((a - b).abs().max() / b.abs().max().clamp(min=1e-9)) for a, b in pairs)


@pytest.mark.parametrize("name", ALL)
def test_networks(name: str) -> None:
    (network,) = (n for n in networks.NETWORKS if n.name == name)
    model, kwargs, dynamic = networks.made(network)
    program = ow.export(model, (), kwargs, dynamic_shapes=dynamic)
    half, report = ow.to_half(program, report=True)
    assert isinstance(half, ow.ONNXProgram)
    assert report.bytes[1] < 0.6 * report.bytes[0]
    session = onnxruntime.InferenceSession(half.model_proto.SerializeToString())
    names = [value.name for value in session.get_inputs()]
    feeds = {k: t.numpy() for k, t in zip(names, tensors(kwargs), strict=True)}
    results = [torch.from_numpy(found) for found in session.run(None, feeds)]
    with torch.no_grad():
        wanted = floats(model(**kwargs))
        narrow = {
            key: value.half() if isinstance(value, torch.Tensor) and value.is_floating_point()
            else value
            for key, value in kwargs.items()
        }  # fmt: skip
        by_torch = farthest(floats(copy.deepcopy(model).half()(**narrow)), wanted)
    assert farthest(floats(results), wanted) <= 2 * by_torch
