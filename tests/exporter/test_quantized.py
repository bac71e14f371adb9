"""Quantized programs: wrapped weights, packed modules, fake quantization; weights stay integers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
import torch
import torch.ao.quantization as aq
from torch import nn, randn
from torch.utils import _pytree as pytree

import onnxwright as ow
from onnxwright.errors import ExportError
from onnxwright.verification.plain_sessions import PlainSession
from tests.harness.modules import module_with

# torch says of its own quantization that torchao takes it over.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def farthest(program: Any, model: Any, *args: Any) -> float:
    """The largest difference of a result, relative to the largest number in it."""
    worst = 0.0
    got, wanted = pytree.tree_leaves(program(*args)), pytree.tree_leaves(model(*args))
    for a, b in zip(got, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        a, b = a.double(), b.double()
        worst = max(worst, float((a - b).abs().max() / b.abs().max().clamp(min=1e-6)))
    return worst


def stored(program: Any) -> dict[str, int]:
    """Bytes of the initializers, by element type."""
    found: dict[str, int] = {}
    for value in program.model.graph.initializers.values():
        tensor = value.const_value
        assert tensor is not None
        found[tensor.dtype.name] = found.get(tensor.dtype.name, 0) + len(tensor.tobytes())
    return found


def operators(program: Any) -> list[str]:
    return [node.op_type for node in program.model.graph]


# -- weights that wrap others --------------------------------------------------------------------


class EightBits(torch.Tensor):
    """A weight of integers and a scale for each row, as libraries of quantization make them."""

    @staticmethod
    def __new__(cls, whole: Any, scale: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, whole.shape, dtype=scale.dtype)

    def __init__(self, whole: Any, scale: Any) -> None:
        self.whole, self.scale = whole, scale

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["whole", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, inner: Any, meta: Any, size: Any, stride: Any) -> Any:
        return cls(inner["whole"], inner["scale"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        aten = torch.ops.aten
        if func in (aten.detach.default, aten.alias.default, aten.clone.default):
            return cls(func(args[0].whole), func(args[0].scale))
        if func is aten.t.default:
            return args[0].whole.t().to(args[0].scale.dtype) * args[0].scale.t()
        plain = [a.whole * a.scale if isinstance(a, EightBits) else a for a in args]
        return func(*plain, **(kwargs or {}))


def wrapped() -> Any:
    model = nn.Linear(64, 32, bias=False)
    scale = model.weight.detach().abs().amax(1, keepdim=True) / 127
    weight = EightBits((model.weight.detach() / scale).round().to(torch.int8), scale)
    model.weight = nn.Parameter(weight, requires_grad=False)
    return model


def test_a_weight_that_wraps_others() -> None:
    """Its inner tensors are initializers under its name; no float copy is stored."""
    model = wrapped()
    program = ow.export(model, (randn(4, 64),), dynamic_shapes=({0: "N"},))
    for rows in (1, 7):
        assert farthest(program, model, randn(rows, 64)) < 1e-5
    assert "weight.whole" in program.model.graph.initializers
    assert stored(program)["INT8"] == 64 * 32
    assert stored(program)["FLOAT"] == 32 * 4
    assert operators(program) == ["DequantizeLinear", "MatMul"]


def test_wrapped_weights_are_given_later() -> None:
    """`apply_weights` takes a state dict with wrapped weights."""
    model, other = wrapped(), wrapped()
    x = randn(4, 64)
    program = ow.export(model, (x,))
    before = program(x)
    other.weight = nn.Parameter(EightBits(-other.weight.whole, other.weight.scale * 2), False)
    program.apply_weights(other.state_dict())
    torch.testing.assert_close(program(x), other(x), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(before, program(x))


def test_wrapped_weights_without_optimization() -> None:
    model = wrapped()
    program = ow.export(model, (randn(4, 64),), optimize=False)
    assert farthest(program, model, randn(4, 64)) < 1e-5
    assert stored(program)["INT8"] == 64 * 32


# -- torchao ---------------------------------------------------------------------------------------


def torchao_configs() -> dict[str, tuple[Callable[[Any], Any], str, float]]:
    """Name -> (config of torchao, element type of the weights, allowed relative difference)."""

    def grouped(q: Any) -> Any:
        from torchao.quantization.granularity import PerGroup

        return {"weight_dtype": torch.int4, "weight_granularity": PerGroup(32)}

    def weights_only(q: Any) -> Any:
        from torchao.quantization.granularity import PerGroup

        return q.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32))

    return {
        "int8 weights": (lambda q: q.Int8WeightOnlyConfig(), "INT8", 1e-5),
        "int8 weights, per axis": (lambda q: q.IntxWeightOnlyConfig(), "INT8", 1e-5),
        "int4 weights": (weights_only, "INT4", 1e-5),
        "int8 dynamic, int4 weights": (
            lambda q: q.Int8DynamicActivationIntxWeightConfig(**grouped(q)), "INT4", 1e-2,
        ),
        "int8 dynamic, int8 weights": (
            lambda q: q.Int8DynamicActivationInt8WeightConfig(), "INT8", 1e-2,
        ),
        "float8 weights": (lambda q: q.Float8WeightOnlyConfig(), "FLOAT8E4M3FN", 1e-5),
    }  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize("name", torchao_configs())
def test_torchao(name: str) -> None:
    """Weights stay in their type, whatever torchao does with the activations."""
    q = pytest.importorskip("torchao.quantization", reason="torchao makes these weights")
    make, kind, allowed = torchao_configs()[name]
    model = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 32)).eval()
    q.quantize_(model, make(q))
    for axes in ({0: "N"}, {0: "N", 1: "T"}):
        middle = [(), (3,)][len(axes) - 1]
        program = ow.export(model, (randn(4, *middle, 128),), dynamic_shapes=(axes,))
        for rows in (1, 5):
            assert farthest(program, model, randn(rows, *(7 for _ in middle), 128)) < allowed
    sizes = stored(program)
    whole = 128 * 64 + 64 * 32
    assert sizes[kind] >= (whole // 2 if kind == "INT4" else whole)
    assert sizes.get("FLOAT", 0) < whole  # scales and biases, no weight as floats


@pytest.mark.parametrize("opset", [18, 21])
def test_torchao_by_opset(opset: int) -> None:
    """INT4 and blocks are of opset 21; before, the weights are INT8."""
    q = pytest.importorskip("torchao.quantization", reason="torchao makes these weights")
    model = nn.Sequential(nn.Linear(128, 64)).eval()
    q.quantize_(model, torchao_configs()["int4 weights"][0](q))
    program = ow.export(model, (randn(4, 128),), opset_version=opset)
    assert farthest(program, model, randn(4, 128)) < 1e-5
    assert ("INT4" in stored(program)) == (opset >= 21)
    assert stored(program).get("INT8", 0) + 2 * stored(program).get("INT4", 0) >= 128 * 64


@pytest.mark.parametrize(
    ("bits", "dtype", "kind"),
    [(1, "float32", "INT4"), (3, "float32", "INT4"), (5, "float32", "INT8"),
     (4, "float16", "INT4"), (4, "bfloat16", "INT4"), (8, "float16", "INT8")],
)  # fmt: skip
@pytest.mark.parametrize("tied", [False, True])
def test_torchao_by_width(bits: int, dtype: str, kind: str, tied: bool) -> None:
    """Up to four bits are INT4, in models of half precision too; a tied table is stored once."""
    q = pytest.importorskip("torchao.quantization", reason="torchao makes these weights")
    from torchao.quantization.granularity import PerGroup

    table, head = nn.Embedding(40, 48), nn.Linear(48, 40, bias=False)
    model = nn.Sequential(table, nn.ReLU(), head).eval().to(getattr(torch, dtype))
    config = q.IntxWeightOnlyConfig(
        weight_dtype=getattr(torch, f"int{bits}"), granularity=PerGroup(16)
    )
    q.quantize_(model, config, filter_fn=lambda m, name: m in (table, head))
    if tied:
        head.weight = table.weight
    program = ow.export(model, (torch.randint(0, 40, (2, 3)),), dynamic_shapes=({0: "N"},))
    assert farthest(program, model, torch.randint(0, 40, (5, 3))) < (
        1e-5 if dtype == "float32" else 2e-2
    )
    sizes, whole = stored(program), 40 * 48 // (2 if kind == "INT4" else 1)
    assert whole * (2 - tied) <= sizes[kind] <= whole * (2 - tied) * 1.1  # and zero points
    assert max(sizes.get(name, 0) for name in ("FLOAT", "FLOAT16", "BFLOAT16")) <= 8 * 40 * 3


def test_pt2e() -> None:
    """A graph that torchao's pt2e quantized: QuantizeLinear and DequantizeLinear."""
    pt2e = pytest.importorskip(
        "torchao.quantization.pt2e.quantize_pt2e", reason="torchao makes these graphs"
    )
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    quantizer = x86.X86InductorQuantizer().set_global(
        x86.get_default_x86_inductor_quantization_config()
    )
    x = randn(2, 3, 8, 8)
    plain = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 5)).eval()
    model = pt2e.prepare_pt2e(torch.export.export(plain, (x,)).module(), quantizer)
    model(x)
    model = pt2e.convert_pt2e(model)
    program = ow.export(model, (x,))
    # Without optimizations: kernels of int8 saturate on processors without VNNI.
    (got,) = PlainSession(program.model_proto).run({"input": x.numpy()})
    assert farthest(lambda x: torch.from_numpy(got), model, x) < 0.02
    assert stored(program)["INT8"] >= 288 * 5
    assert "QuantizeLinear" in operators(program)


# -- eager mode ------------------------------------------------------------------------------------


@module_with(lambda inner: {"quant": aq.QuantStub(), "inner": inner, "dequant": aq.DeQuantStub()})
def Stubs(self, x: Any) -> Any:
    """A module between the stubs of eager-mode quantization."""
    return self.dequant(self.inner(self.quant(x)))


class Residual(nn.Module):
    """Sums, products, concatenations and shapes of quantized tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 3, padding=1)
        self.f, self.g, self.h, self.k = (torch.ao.nn.quantized.FloatFunctional() for _ in range(4))

    def forward(self, x: Any) -> Any:
        y = self.f.cat([self.a(x), self.b(x)], 1)
        y = self.g.add_scalar(self.h.mul_scalar(y, 0.5), 1.0)
        y = self.k.mul(y, y)
        return nn.functional.interpolate(y[:, 1:5], size=4).flatten(2).mean(2)


def static(model: Any, x: Any, fuse: Any = None) -> Any:
    """A module quantized by torch's eager mode, with scales from one batch."""
    torch.backends.quantized.engine = "fbgemm"
    model.eval().qconfig = aq.get_default_qconfig("fbgemm")
    ready = aq.prepare(aq.fuse_modules(model, fuse) if fuse else model)
    ready(x)
    return aq.convert(ready)


def conv(*after: Any) -> Any:
    return nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), *after)


IMAGE = (2, 4, 8, 8)
STATIC: dict[str, tuple[Callable[[], Any], tuple[int, ...], Any]] = {
    "conv, relu, pool, linear": (
        lambda: conv(nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.AvgPool2d(2), nn.Flatten(),
                     nn.Linear(16, 3)), IMAGE, [["inner.0", "inner.1"]],
    ),
    "conv and batch norm": (
        lambda: conv(nn.BatchNorm2d(4), nn.ReLU()), IMAGE, [["inner.0", "inner.1", "inner.2"]],
    ),
    "batch norm": (lambda: conv(nn.BatchNorm2d(4)), IMAGE, None),
    "one axis": (
        lambda: nn.Sequential(nn.Conv1d(4, 6, 3, stride=2, padding=1), nn.ReLU()), (2, 4, 8),
        [["inner.0", "inner.1"]],
    ),
    "three axes": (lambda: nn.Sequential(nn.Conv3d(4, 6, 2)), (2, 4, 4, 4, 4), None),
    "groups": (lambda: nn.Sequential(nn.Conv2d(4, 8, 3, groups=4, dilation=2)), IMAGE, None),
    "reflected": (
        lambda: nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect")), IMAGE, None,
    ),
    "sigmoid": (lambda: conv(nn.Sigmoid()), IMAGE, None),
    "tanh": (lambda: conv(nn.Tanh()), IMAGE, None),
    "hardswish": (lambda: conv(nn.Hardswish()), IMAGE, None),
    "hardsigmoid": (lambda: conv(nn.Hardsigmoid()), IMAGE, None),
    "leaky relu": (lambda: conv(nn.LeakyReLU()), IMAGE, None),
    "elu": (lambda: conv(nn.ELU()), IMAGE, None),
    "relu6": (lambda: conv(nn.ReLU6()), IMAGE, None),
    "layer norm": (lambda: conv(nn.LayerNorm([8, 8])), IMAGE, None),
    "group norm": (lambda: conv(nn.GroupNorm(2, 4)), IMAGE, None),
    "instance norm": (lambda: conv(nn.InstanceNorm2d(4)), IMAGE, None),
    "upsample": (lambda: conv(nn.Upsample(scale_factor=2, mode="bilinear")), IMAGE, None),
    "functions": (Residual, IMAGE, None),
}  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize("name", STATIC)
def test_eager_mode(name: str) -> None:
    """Modules of `torch.ao.nn.quantized`: Q and DQ, weights as INT8, and the module as it was."""
    make, shape, fuse = STATIC[name]
    model = static(Stubs(make()), randn(*shape), fuse)
    before = {k: str(v) for k, v in model.state_dict().items()}
    program = ow.export(model, (randn(*shape),), dynamic_shapes=({0: "N"},))
    assert {k: str(v) for k, v in model.state_dict().items()} == before
    assert farthest(program, model, randn(3, *shape[1:])) < 0.03  # a few of 255 steps
    assert "QuantizeLinear" in operators(program)
    assert "INT8" in stored(program)


def test_fx_mode() -> None:
    """`convert_fx` gives a graph module of the same operators."""
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    x = randn(*IMAGE)
    model = nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).eval()
    torch.backends.quantized.engine = "fbgemm"
    ready = prepare_fx(model, aq.get_default_qconfig_mapping("fbgemm"), (x,))
    ready(x)
    model = convert_fx(ready)
    program = ow.export(model, (x,), dynamic_shapes=({0: "N"},))
    assert farthest(program, model, randn(3, 4, 8, 8)) < 0.03
    assert stored(program)["INT8"] >= 144 * 5


@pytest.mark.parametrize("dtype", [torch.qint8, torch.float16])
def test_dynamic_linear(dtype: Any) -> None:
    """Weights as INT8 or FLOAT16; activations are rounded by a scale found at run time."""
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 48)).eval()
    model = aq.quantize_dynamic(model, {nn.Linear}, dtype=dtype)
    program = ow.export(model, (randn(4, 64),), dynamic_shapes=({0: "N"},))
    for rows in (1, 5):
        assert farthest(program, model, randn(rows, 64)) < 0.02
    kind = "INT8" if dtype is torch.qint8 else "FLOAT16"
    assert stored(program)[kind] >= (64 * 32 + 32 * 48) * (1 if kind == "INT8" else 2)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}])
def test_dynamic_recurrent(kind: Any, options: Any) -> None:
    """One node for each layer, whose weights are INT8."""
    model = nn.Sequential(kind(16, 24, batch_first=True, **options)).eval()
    model = aq.quantize_dynamic(model, {kind}, dtype=torch.qint8)
    program = ow.export(model, (randn(2, 5, 16),), dynamic_shapes=({0: "N", 1: "T"},))
    assert farthest(program, model, randn(3, 7, 16)) < 0.05
    assert operators(program).count(kind.__name__) == options.get("num_layers", 1)
    gates = 4 if kind is nn.LSTM else 3
    assert stored(program)["INT8"] >= gates * 24 * (16 + 24)


def test_embedding() -> None:
    """Rows of integers, each with its scale."""
    model = nn.Sequential(nn.Embedding(50, 32)).eval()
    model[0].qconfig = aq.float_qparams_weight_only_qconfig
    model = aq.convert(aq.prepare(model))
    program = ow.export(model, (torch.randint(0, 50, (2, 3)),), dynamic_shapes=({0: "N"},))
    assert farthest(program, model, torch.randint(0, 50, (4, 3))) < 1e-6
    assert stored(program)["UINT8"] == 50 * 32


class Functions(nn.Module):
    """Quantized tensors without quantized modules."""

    def forward(self, x: Any) -> Any:
        q = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)
        return torch.relu(q).dequantize(), q.int_repr(), q.reshape(-1).dequantize()


def test_functions() -> None:
    program = ow.export(Functions(), (randn(2, 3),), dynamic_shapes=({0: "N"},))
    assert farthest(program, Functions(), randn(4, 3)) < 1e-6


def test_a_quantized_result_is_refused() -> None:
    """There is no value of ONNX for it."""
    model = static(nn.Sequential(aq.QuantStub(), nn.Conv2d(4, 4, 1)), randn(*IMAGE))
    with pytest.raises(ExportError, match=r"OW847.*a result") as caught:
        ow.export(model, (randn(*IMAGE),))
    assert "DeQuantStub" in str(caught.value)
    quantized = torch.quantize_per_tensor(randn(*IMAGE), 0.1, 0, torch.quint8)
    with pytest.raises(ExportError, match=r"OW847.*an input"):
        ow.export(nn.Sequential(model[1]), (quantized,))


# -- fake quantization -----------------------------------------------------------------------------


class Fake(nn.Module):
    """Every range that one node of QuantizeLinear has, and some that it has with Clip."""

    def forward(self, x: Any) -> Any:
        scales, zeros = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2], dtype=torch.int32)
        per_tensor = torch.fake_quantize_per_tensor_affine
        return (
            per_tensor(x, 0.1, 3, -128, 127),
            per_tensor(x, 0.1, 3, 0, 255),
            per_tensor(x, 0.25, 0, -8, 7),
            per_tensor(x, 0.01, 64, 0, 127),
            torch.fake_quantize_per_channel_affine(x, scales, zeros, 1, 0, 255),
            torch.fake_quantize_per_channel_affine(x, scales, zeros * 0, 1, -127, 127),
            per_tensor(x, 0.001, 0, -32768, 32767),
        )


def test_fake_quantization() -> None:
    """QuantizeLinear and DequantizeLinear; a range that no type has is computed."""
    program = ow.export(Fake(), (randn(2, 3, 4),), dynamic_shapes=({0: "N"},))
    assert farthest(program, Fake(), randn(5, 3, 4) * 4) < 1e-5
    assert operators(program).count("QuantizeLinear") == 6
    assert operators(program).count("Clip") == 3


def test_training_aware_modules() -> None:
    """Modules of quantization-aware training, with the scales they learned."""
    model = Stubs(conv(nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(256, 5))).train()
    model.qconfig = aq.get_default_qat_qconfig("fbgemm")
    model = aq.prepare_qat(model)
    model(randn(*IMAGE))
    model.eval()
    with pytest.warns(ow.errors.OnnxwrightWarning, match="OW848"):
        ow.export(model, (randn(*IMAGE),))
    model.apply(aq.disable_observer)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ow.errors.OnnxwrightWarning)
        program = ow.export(model, (randn(*IMAGE),), dynamic_shapes=({0: "N"},))
    assert farthest(program, model, randn(3, 4, 8, 8)) < 0.05
    assert "QuantizeLinear" in operators(program)
    off = model.apply(aq.disable_fake_quant)
    plain = ow.export(off, (randn(*IMAGE),))
    assert "QuantizeLinear" not in operators(plain)


def test_training_aware_modules_before_a_pool() -> None:
    """Unsigned activations of seven bits: ONNX Runtime refused them as INT8 before a MaxPool."""
    inner = nn.Sequential(
        nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(36, 5),
    )  # fmt: skip
    model = Stubs(aq.fuse_modules_qat(inner, [["0", "1", "2"]])).train()
    model.qconfig = aq.get_default_qat_qconfig("x86")
    model = aq.prepare_qat(model)
    model(randn(*IMAGE))
    model.eval().apply(aq.disable_observer)
    program = ow.export(model, (randn(*IMAGE),), dynamic_shapes=({0: "N"},))
    assert farthest(program, model, randn(3, 4, 8, 8)) < 0.05


def test_stored_counts_bytes() -> None:
    """The helper of this file has a check: four bits take half a byte."""
    tensor = ir.tensor(np.zeros(6, np.int8), dtype=ir.DataType.INT8)
    assert len(tensor.tobytes()) == 6
