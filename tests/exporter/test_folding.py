"""Weights that are folded into others, or computed from them, and how they follow new numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import nn

import onnxwright as ow
from tests.exporter.programs import operators
from tests.harness.modules import module_with


def _trained(model):
    """A model whose running statistics and weights are not those of a new one."""
    torch.manual_seed(0)
    for tensor in model.state_dict().values():
        if tensor.dtype.is_floating_point:
            tensor.copy_(torch.rand(tensor.shape) + 0.1)
    return model.eval()


def _names(program) -> list[str]:
    return list(program.model.graph.initializers)


_PAIRS = {
    "conv": (lambda: (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), (2, 3, 5, 5), "Conv"),
    "no bias": (lambda: (nn.Conv1d(3, 4, 2, bias=False), nn.BatchNorm1d(4)), (2, 3, 5), "Conv"),
    "groups": (lambda: (nn.Conv2d(4, 6, 3, groups=2), nn.BatchNorm2d(6)), (2, 4, 5, 5), "Conv"),
    "not affine": (
        lambda: (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, affine=False)), (2, 3, 5, 5), "Conv"
    ),
    "transposed": (
        lambda: (nn.ConvTranspose2d(4, 6, 3, groups=2), nn.BatchNorm2d(6)), (2, 4, 5, 5),
        "ConvTranspose",
    ),
    "linear": (lambda: (nn.Linear(3, 4), nn.BatchNorm1d(4)), (5, 3), "Gemm"),
    "no bias, linear": (lambda: (nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4)), (5, 3), "Gemm"),
    "3d": (lambda: (nn.Conv3d(2, 3, 2), nn.BatchNorm3d(3)), (2, 2, 4, 4, 4), "Conv"),
}  # fmt: skip


@pytest.mark.parametrize("name", _PAIRS)
def test_normalization_is_folded(name: str) -> None:
    make, shape, kind = _PAIRS[name]
    program = ow.export(_trained(nn.Sequential(*make())), (torch.randn(shape),), verify=True)
    assert operators(program) == {kind: 1}
    assert _names(program) == ["0.weight.folded", "0.bias.folded"]
    made_of = program.model.graph.initializers["0.weight.folded"].metadata_props
    assert made_of["onnxwright.made_of"].startswith("0.weight, ")


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_folded_weights_have_the_type_of_the_module(dtype) -> None:
    model = _trained(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))).to(dtype)
    program = ow.export(model, (torch.randn(5, 3, dtype=dtype),), verify=True)
    assert operators(program) == {"Gemm": 1}
    assert {t.dtype.name for t in _tensors(program)} == {
        {torch.float16: "FLOAT16", torch.float64: "DOUBLE"}[dtype]
    }


def _tensors(program):
    return [v.const_value for v in program.model.graph.initializers.values()]


def test_what_leaves_the_range_of_half_precision_is_not_folded() -> None:
    model = _trained(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)))
    model[0].weight.data *= 6e4
    model[1].running_var.fill_(1e-6)
    program = ow.export(model.half(), (torch.randn(5, 3).half() * 1e-5,))
    assert operators(program) == {"Gemm": 1, "BatchNormalization": 1}


@module_with(
    lambda: {"conv": nn.Conv1d(2, 2, 1), "first": nn.BatchNorm1d(2), "second": nn.BatchNorm1d(2)}
)
def Twice(self, x):
    """One convolution, two normalizations."""
    return self.first(self.conv(x)) + self.second(self.conv(x + 1))


@module_with(lambda: {"conv": nn.Conv1d(2, 2, 1), "norm": nn.BatchNorm1d(2)})
def Shared(self, x):
    """One convolution and its one normalization, run twice."""
    return self.norm(self.conv(x)) + self.norm(self.conv(x + 1))


@module_with(lambda: {"conv": nn.Conv1d(2, 2, 1), "norm": nn.BatchNorm1d(2)})
def AlsoRead(self, x):
    """The result of the convolution is a result of the model too."""
    y = self.conv(x)
    return self.norm(y), y


@pytest.mark.parametrize(("make", "count"), [(Twice, 2), (Shared, 0), (AlsoRead, 1)])
def test_shared_weights_are_folded_once_or_not(make, count: int) -> None:
    program = ow.export(_trained(make()), (torch.randn(1, 2, 3),), verify=True)
    assert operators(program).get("BatchNormalization", 0) == count
    assert operators(program)["Conv"] == (1 if make is AlsoRead else 2)
    if not count:
        assert _names(program).count("conv.weight.folded") == 1
        assert "conv.weight" not in _names(program)


def test_a_normalization_in_training_stays() -> None:
    model = nn.Sequential(nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2)).train()
    program = ow.export(model, (torch.randn(3, 2, 3),), verify=True)
    assert "0.weight" in _names(program)


def test_nothing_is_folded_unless_it_is_asked_for() -> None:
    model, x = _trained(nn.Sequential(nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2))), torch.randn(3, 2, 3)
    plain = ow.export(model, (x,), optimize=False)
    assert operators(plain) == {"Conv": 1, "BatchNormalization": 1}
    plain.optimize()
    assert operators(plain) == {"Conv": 1}
    assert plain.verify().ok
    functions = ow.export(model, (x,), export_modules_as_functions=True, verify=True)
    assert operators(functions) == {"Conv1d": 1, "BatchNorm1d": 1}


@pytest.mark.parametrize("fake", [False, True])
def test_folded_weights_follow_any_part_of_them(fake: bool) -> None:
    model, x = _trained(nn.Sequential(nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2))), torch.randn(3, 2, 3)
    if fake:
        with torch.device("meta"):
            hollow = nn.Sequential(nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2)).eval()
        program = ow.export(hollow, (x.to("meta"),))
        with pytest.raises(ow.errors.ExportError, match="6 weights have no data yet"):
            program(x)
        state = model.state_dict()
        program.apply_weights({n: state[n] for n in list(state)[:3]})
        with pytest.raises(ow.errors.ExportError, match="3 weights have no data yet"):
            program(x)
        program.apply_weights({n: state[n] for n in list(state)[3:6]})
    else:
        program = ow.export(model, (x,))
    assert operators(program) == {"Conv": 1}
    torch.testing.assert_close(program(x), model(x).detach())
    for name in ("0.weight", "1.running_var", "0.bias", "1.bias"):
        new = torch.rand_like(model.state_dict()[name])
        program.apply_weights({name: new})
        model.state_dict()[name].copy_(new)
        torch.testing.assert_close(program(x), model(x).detach())


def test_weights_of_another_shape_are_refused_as_the_module_has_them() -> None:
    model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4)).eval()
    program = ow.export(model, (torch.randn(2, 3),))
    with pytest.raises(ow.errors.ExportError, match=r"has shape \[3, 4\], the model has \[4, 3\]"):
        program.apply_weights({"0.weight": torch.zeros(3, 4)})


@pytest.mark.parametrize("external", [False, True])
def test_files_hold_folded_weights(tmp_path: Path, external: bool) -> None:
    model = _trained(nn.Sequential(nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16)))
    program = ow.export(model, (torch.randn(1, 8, 5, 5),))
    path = program.save(tmp_path / "m.onnx", external_data=external)
    onnx.checker.check_model(str(path), full_check=True)
    held = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(str(path)).graph.initializer}
    conv, norm = model
    factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    wanted = conv.weight * factor[:, None, None, None]
    np.testing.assert_allclose(held["0.weight.folded"], wanted.detach().numpy(), rtol=1e-6)


# -- what weights alone make -----------------------------------------------------------------------


class Computed(nn.Module):
    """Weights that are computed from weights."""

    def __init__(self) -> None:
        super().__init__()
        self.decay = nn.Parameter(torch.rand(4))
        self.table = nn.Parameter(torch.rand(3, 4))
        self.register_buffer("order", torch.tensor([2, 0, 1]))

    def forward(self, x):
        return x * -torch.exp(self.decay) + self.table[self.order][None]


def test_what_weights_alone_make_is_an_initializer() -> None:
    model, x = Computed().eval(), torch.randn(2, 3, 4)
    program = ow.export(model, (x,), verify=True)
    assert operators(program) == {"Mul": 1, "Add": 1}
    assert _names(program) == ["decay.folded", "table.folded"]
    model.state_dict()["table"].mul_(2)
    program.apply_weights({"decay": torch.ones(4), "table": model.table.detach()})
    model.state_dict()["decay"].fill_(1)
    torch.testing.assert_close(program(x), model(x).detach())


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU])
def test_gates_are_sorted_before_the_run(make) -> None:
    model, x = make(3, 4, 2).eval(), torch.randn(5, 2, 3)
    program = ow.export(model, (x,), verify=True)
    assert not {"Gather", "Slice", "Split"} & set(operators(program))
    assert "weight_ih_l0.folded" in _names(program)
    assert "weight_ih_l0" not in _names(program)


@module_with(lambda: {"weight": nn.Parameter(torch.rand(500, 200))})
def Large(self, ids, x):
    """A large weight, as it is and transposed."""
    return self.weight[ids], torch.matmul(x, self.weight.T)


def test_large_weights_are_not_held_twice() -> None:
    program = ow.export(Large().eval(), (torch.tensor([1, 2]), torch.randn(3, 200)), verify=True)
    assert operators(program) == {"Gather": 1, "Transpose": 1, "MatMul": 1}
    assert _names(program) == ["weight"]


@module_with(lambda: {"seen": nn.Buffer(torch.ones(3))})
def Counting(self, x):
    """A buffer that is written, and read."""
    y = x * (self.seen * 2)
    self.seen += 1
    return y


def test_buffers_that_are_written_stay_what_they_are(tmp_path: Path) -> None:
    program = ow.export(Counting(), (torch.ones(3),), verify=True)
    assert "seen" in _names(program)
    path = program.save(tmp_path / "m.onnx", keep_initializers_as_inputs=True)
    assert "seen" in [i.name for i in onnx.load(path).graph.input]


@module_with(lambda: {"x": nn.Parameter(torch.ones(3))})
def Named(self, x):
    """A weight that is called like an input."""
    return x + self.x


def test_a_weight_called_like_an_input_is_given_under_its_name() -> None:
    program = ow.export(Named(), (torch.zeros(3),))
    program.apply_weights({"x": torch.full((3,), 5.0)})
    assert program(torch.zeros(3)).tolist() == [5.0] * 3
    (weight,) = program.model.graph.initializers.values()
    assert "pkg.torch.export.graph_signature.InputSpec.kind" in weight.metadata_props
