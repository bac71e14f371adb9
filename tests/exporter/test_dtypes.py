"""Element types: half precision, small integers, complex numbers, mixed types."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch import nn, randint, randn
from torch.nn import functional as F

from onnxwright import errors
from onnxwright.exporter import checks, export
from tests.exporter.programs import Program, Programs, check, run, shapes
from tests.harness.modules import module_with

PROGRAMS = Programs()
ROWS = {"x": {0: "b"}}


def _complex():
    return (randn(3, 4, dtype=torch.complex64),)


for _dtype in (torch.float16, torch.bfloat16, torch.float64):
    _name = str(_dtype).removeprefix("torch.")
    PROGRAMS.add(
        f"mlp_{_name}",
        lambda d=_dtype: nn.Sequential(
            nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4), nn.Softmax(-1)
        ).to(d),
        lambda d=_dtype: (randn(3, 8).to(d),),
        dynamic=({0: "batch"},),
    )
    PROGRAMS.add(
        f"conv_{_name}",
        lambda d=_dtype: (
            nn.Sequential(nn.Conv1d(4, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.AvgPool1d(2))
            .to(d)
            .eval()
        ),
        lambda d=_dtype: (randn(1, 4, 8).to(d),),
    )
    PROGRAMS.add(
        f"attention_{_name}",
        lambda: lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        lambda d=_dtype: tuple(randn(1, 2, 4, 8).to(d) for _ in range(3)),
    )
    PROGRAMS.add(
        f"reductions_{_name}",
        lambda: lambda x: (x.mean(), x.sum(0), x.std(1), x.amax(0), x.cumsum(1), x.norm()),
        lambda d=_dtype: (randn(3, 4).to(d),),
        dynamic=ROWS,
    )


@PROGRAMS(lambda: (randint(-9, 9, (2, 3), dtype=torch.int8),), dynamic=ROWS)
def int8(x):
    """Arithmetic that wraps, shifts, sums to int64."""
    return x + x, x * 3, x // 2, x >> 1, x.sum(), x.float() / 2, x.abs().max()


@PROGRAMS(lambda: (randint(0, 200, (2, 3), dtype=torch.uint8),))
def uint8(x):
    """Bytes of an image."""
    return x.float() / 255, x & 15, x.to(torch.int32) - 200, x > 100


@PROGRAMS(lambda: (randint(0, 9, (2, 3)), randn(2, 3)))
def unsigned(x, y):
    """Results of the wide unsigned types."""
    return x.to(torch.uint64), x.to(torch.uint32), torch.hash_tensor(x, 1), torch.hash_tensor(y, 0)


@PROGRAMS(lambda: (randint(-9, 9, (2, 3), dtype=torch.int32), randint(-9, 9, (3,))))
def mixed_integers(x, y):
    return x + y, x * 2.5, x / 2, torch.where(x > 0, x, y), x % 4, x**2


@PROGRAMS(lambda: (randint(-9, 9, (2, 3)),), dynamic=ROWS)
def number_minus_integers(x):
    """`1.0 - int_tensor` is float."""
    return 1.0 - x, 2 - x, x * 1.5, 1 / x.abs().clamp(min=1), x + True


@PROGRAMS(lambda: (randn(2, 3) > 0, randn(2, 3)))
def booleans(b, x):
    return b & (x > 0), ~b, b.sum(), b * x, b.any(0), b.all(), b + b, b.to(torch.int64)


@PROGRAMS(lambda: (randn(2, 3).half(), randn(3)))
def half_and_float(x, y):
    return x + y, x * 2, x.float(), x @ y.half()


@PROGRAMS(lambda: (randn(2, 3).bfloat16(), randn(2, 3).half()))
def two_halves(x, y):
    return x + y, x.to(torch.float16), y.to(torch.bfloat16)


@PROGRAMS(lambda: (randn(2, 3),), dynamic=ROWS, tolerance=(1e-2, 1e-3))
@module_with(lambda: {"linear": nn.Linear(3, 4).half()})
def HalfInside(self, x):
    """Half precision weights, float inputs and outputs."""
    return self.linear(x.half()).float()


@PROGRAMS(_complex, dynamic=ROWS)
def complex_arithmetic(x):
    """Products, conjugates, parts, angles."""
    return x * x.conj(), x + 1j, x.real, x.imag, x.abs(), x.angle(), x / 2


@PROGRAMS(_complex)
def complex_moved(x):
    return x.T, torch.cat([x, x]), x.reshape(-1)[1:5], x.sum(0), x @ x.mH


@PROGRAMS(lambda: (randn(2, 0, 3, dtype=torch.complex64),))
def complex_empty(x):
    """No elements, in some order of the axes."""
    return x * 2, x.exp(), x.transpose(0, 1), x.new_zeros(0)


@PROGRAMS(lambda: (randn(5, 2, dtype=torch.complex64), torch.tensor([1, 2])))
def complex_split_at(x, places):
    """Sizes that only the run knows."""
    return torch.tensor_split(x, places)


@PROGRAMS(lambda: (randn(3, 4, 2),), dynamic=ROWS)
def real_views(x):
    """view_as_complex and back."""
    return torch.view_as_real(torch.view_as_complex(x) * 1j)


@PROGRAMS(lambda: (randn(3, 8),), dynamic=ROWS)
def fourier(x):
    y = torch.fft.rfft(x)
    return y, torch.fft.irfft(y * y.conj(), n=8), torch.fft.fft(x).abs()


@PROGRAMS(lambda: (randn(2, 3),))
@module_with(lambda: {"weight": nn.Parameter(randn(3, 3, dtype=torch.complex64))})
def ComplexWeights(self, x):
    """A complex parameter."""
    return (x + 0j) @ self.weight


@PROGRAMS(lambda: (randn(2, 3, dtype=torch.complex128), torch.tensor(2 + 1j)))
def double_complex(x, z):
    return x * z, x.real + x.imag


@PROGRAMS(lambda: (randn(4),))
def special_values(x):
    """nan and infinities."""
    y = x / torch.tensor([0.0, 1.0, 0.0, 2.0])
    return y, torch.nan_to_num(y), torch.isinf(y), torch.isnan(y * 0), torch.maximum(y * 0, x)


@PROGRAMS(lambda: (randn(()),))
def nonzero_of_rank_zero(x):
    """A shape of [n, 0]."""
    return torch.nonzero(x), torch.nonzero(x * 0)


@PROGRAMS(lambda: (randn(3), torch.tensor([0, 1, 0]), randn(3)))
def scatter_reduce_mean(x, index, source):
    """The mean counts the rows; with and without the old value."""
    return (
        x.scatter_reduce(0, index, source, "mean"),
        x.scatter_reduce(0, index, source, "mean", include_self=False),
    )


PROGRAMS.add(
    "batch_norm_double_training",
    lambda: nn.BatchNorm1d(3).double().train(),
    lambda: (randn(4, 3).double(),),
)
for _dtype in (torch.float16, torch.bfloat16):
    PROGRAMS.add(
        f"batch_norm_{str(_dtype).removeprefix('torch.')}_training",
        lambda d=_dtype: nn.BatchNorm1d(3).to(d).train(),
        lambda d=_dtype: (randn(4, 3).to(d),),
        tolerance=(3e-2, 3e-3),
    )
PROGRAMS.add(
    "embedding_half",
    lambda: nn.Embedding(5, 4).half(),
    lambda: (torch.tensor([1, 3], dtype=torch.int32),),
)


@pytest.mark.share(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_every_output_has_the_type_of_torch(program: Program) -> None:
    """Values, element types and shapes."""
    run(program)


OPSETS = {
    "transformer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(),
        lambda: (randn(2, 3, 8),),
        ({0: "batch", 1: "time"},),
    ),
    "convolutions": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1),
            nn.GroupNorm(2, 4),
            nn.GELU(),
            nn.Upsample(scale_factor=2),
            nn.MaxPool2d(3, 2),
            nn.AdaptiveAvgPool2d(2),
        ),
        lambda: (randn(1, 2, 6, 6),),
        ({0: "batch"},),
    ),
    "recurrent": (
        lambda: nn.GRU(3, 4, batch_first=True),
        lambda: (randn(2, 5, 3),),
        ({0: "batch", 1: "time"},),
    ),
    "reductions": (
        lambda: (
            lambda x: (
                x.sum(0),
                x.mean(1),
                x.amax(),
                x.var(0),
                x.cumsum(1),
                x.topk(2).values,
                x.sort(0),
            )
        ),
        lambda: (randn(3, 4),),
        ({0: "n"},),
    ),
}


@functools.cache
def captured(name: str) -> Any:
    """The module of an entry, and the program that is captured of it, once for all opsets."""
    make, inputs, dynamic = OPSETS[name]
    torch.manual_seed(0)
    model = make()
    return model, export(model, inputs(), dynamic_shapes=dynamic).exported_program


@pytest.mark.share(3)
@pytest.mark.parametrize("version", [v for v in checks.OPSETS if v >= 13])
@pytest.mark.parametrize("name", OPSETS)
def test_every_opset_is_right(name: str, version: int) -> None:
    """From 13 on: the model says so, and computes the same."""
    model, program = captured(name)
    inputs = OPSETS[name][1]()
    program = check(model, inputs, captured=program, opset_version=version, sizes=({"*": 0},))
    assert program.model.opset_imports[""] == version


@pytest.mark.share(5)
@pytest.mark.parametrize("version", [v for v in checks.OPSETS if v < 13])
@pytest.mark.parametrize("name", OPSETS)
def test_older_opsets_are_right_or_refused(name: str, version: int) -> None:
    """Below 13 some operators have no meaning; each is named, and nothing wrong is written."""
    model, program = captured(name)
    inputs = OPSETS[name][1]()
    reason = ""
    try:
        program = check(model, inputs, captured=program, opset_version=version, sizes=())
    except errors.ConversionError as error:
        reason = str(error)
    if reason:
        assert "OW870" in reason
        assert f"to {version}" in reason
    else:
        assert program.model.opset_imports[""] == version


def test_complex_tensors_are_real_pairs_in_the_model() -> None:
    """A last axis of two."""
    program = check(complex_arithmetic, _complex(), None, ROWS)
    assert shapes(program)["x"] == ["b", 4, 2]
    assert program(randn(5, 4, dtype=torch.complex64))[0].dtype is torch.complex64


# What one operator computes, or several without a step that rounds, stays in half precision.
PLAIN_IN_HALF = {
    "Erf": torch.erf,
    "Pow": torch.exp2,
    "Sqrt Reciprocal": torch.rsqrt,
    "Neg Softplus Neg": F.logsigmoid,
    "Split Sigmoid Mul": F.glu,
    "Mod": lambda x: torch.fmod(x, 3),
    "ReduceL2": lambda x: x.norm(dim=1),
    "ReduceL2 Neg": lambda x: -torch.linalg.matrix_norm(x),
    "CumSum": lambda x: x.cumsum(0),
    "Softmax": lambda x: x.softmax(-1),
    "LayerNormalization": lambda x: F.layer_norm(x, (4,)),
    "ReduceMean": lambda x: x.mean(0),
}


@pytest.mark.parametrize("operators", PLAIN_IN_HALF)
def test_half_precision_is_not_cast_without_need(operators: str) -> None:
    """ONNX Runtime's CPU widens by itself; other providers compute in half precision."""
    function = PLAIN_IN_HALF[operators]
    x = torch.linspace(0.5, 2, 16, dtype=torch.float16).reshape(4, 4)
    program = export(function, (x,))
    assert " ".join(node.op_type for node in program.model.graph) == operators
    torch.testing.assert_close(program(x), function(x), rtol=2e-3, atol=1e-3)


def test_covariances_have_the_wider_type_of_numbers_and_weights() -> None:
    """Half precision with weights of single precision is single precision."""
    program = check(
        lambda x, w: torch.cov(x, aweights=w),
        (randn(3, 5).half(), torch.rand(5)),
        tolerance=(1e-2, 1e-2),
    )
    assert program(randn(3, 5).half(), torch.rand(5)).dtype == torch.float32
