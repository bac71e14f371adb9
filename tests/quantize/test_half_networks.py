"""`to_half` of networks of transformers: at most twice the error of the module's own `.half()`."""

from __future__ import annotations

import contextlib
import copy
import math
from typing import Any

import onnxruntime
import pytest
import torch

pytest.importorskip("transformers", reason="the networks are of transformers")

import onnxwright as ow  # noqa: E402 - after the check for torch
from onnxwright.quantize.half_rewrite import LARGE  # noqa: E402
from tests.exporter import networks, networks_more  # noqa: E402, F401 - registers its own

# Torch and transformers warn of their own deprecations.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("FutureWarning", "DeprecationWarning", "UserWarning")
]

BY_NAME = {network.name: network for network in networks.NETWORKS}
FAST = ("bert", "gpt2", "gemma3", "t5", "llama_cache")
ALL = [
    name if name in FAST else pytest.param(name, marks=pytest.mark.slow)
    for name in sorted(BY_NAME, key=lambda name: name not in FAST)
]
# Where a module mixes types itself, so that torch does not run it: of the largest element.
ALONE = {"float16": 1e-3, "bfloat16": 1e-2}
TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


def changed(values: Any, dtype: Any) -> Any:
    """The same values with floats of another type."""

    def change(value: Any) -> Any:
        is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(dtype) if is_float else value

    return torch.utils._pytree.tree_map(change, values)


def floats(values: Any) -> list[Any]:
    leaves = torch.utils._pytree.tree_leaves(values)
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    return [t.detach().double() for t in tensors if t.is_floating_point()]


def farthest(results: list[Any], expected: list[Any]) -> float:
    """The largest error, of the largest element of each result; infinite for one that is NaN."""
    errors = [0.0]
    for a, b in zip(results, expected, strict=True):
        apart = torch.where(a == b, 0.0, (a - b).abs()).nan_to_num(nan=math.inf)
        errors.append(float(apart.max() / b.abs().max().clamp(min=1e-9)))
    return max(errors)


class OneType(torch.overrides.TorchFunctionMode):
    """A module in half precision that also runs where it mixes types, or PyTorch has no kernel.

    What a function refuses it is given in half precision; what it refuses then, too, in float32.
    Real results of complex numbers have half precision.

    Args:
        dtype: the half precision.
    """

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self._dtype = dtype

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        call = (args, kwargs or {})
        tensors = torch.utils._pytree.tree_leaves(call)
        narrow = any(isinstance(t, torch.Tensor) and t.is_complex() for t in tensors)
        for dtype in (None, self._dtype):
            own = call if dtype is None else changed(call, dtype)
            with contextlib.suppress(RuntimeError):
                result = func(*own[0], **own[1])
                return changed(result, self._dtype) if narrow else result
        wide = changed(call, torch.float32)
        return changed(func(*wide[0], **wide[1]), self._dtype)


def bytes_of_large(program: Any) -> int:
    """The bytes of weights that `to_half` may store in two bytes each; small ones stay."""
    tensors = [v.const_value for v in program.model.graph.initializers.values()]
    return sum(t.nbytes for t in tensors if t is not None and t.size > LARGE)


def check(name: str, dtype: str) -> None:
    model, kwargs, dynamic = networks.made(BY_NAME[name])
    program = ow.export(model, (), kwargs, dynamic_shapes=dynamic)
    half = ow.to_half(program, dtype)
    assert isinstance(half, ow.ONNXProgram)
    # Weights beyond the range and those of nodes that compute in float32 stay.
    assert bytes_of_large(half) < 0.75 * bytes_of_large(program)
    onnxruntime.InferenceSession(half.model_proto.SerializeToString())
    with torch.no_grad():
        # Copies: some modules keep what they have read.
        expected = floats(copy.deepcopy(model)(**copy.deepcopy(kwargs)))
        results = floats(half(**copy.deepcopy(kwargs)))
        narrow = copy.deepcopy(model).to(TYPES[dtype])
        try:
            inputs = changed(copy.deepcopy(kwargs), TYPES[dtype])
            with OneType(TYPES[dtype]):
                by_torch = farthest(floats(narrow(**inputs)), expected)
        except RuntimeError:  # the module mixes types itself
            by_torch = ALONE[dtype]
    assert farthest(results, expected) <= 2 * by_torch


@pytest.mark.share(3)
@pytest.mark.parametrize("name", ALL)
def test_float16(name: str) -> None:
    check(name, "float16")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(BY_NAME))
def test_bfloat16(name: str) -> None:
    check(name, "bfloat16")
