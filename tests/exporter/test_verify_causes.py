"""What `verify` says of modules that ask PyTorch how they are run, and torch.onnx's own tools."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from torch.onnx.testing import assert_onnx_program
from torch.onnx.verification import verify_onnx_program

import onnxwright as ow
from onnxwright import torch_onnx
from tests.harness.modules import module_with
from tests.harness.tables import each

X = torch.randn(2, 4, 8)


class Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2)

    def forward(self, x: Any, mask: Any) -> Any:
        return self.encoder(x, src_key_padding_mask=mask)


class InOnnx(torch.nn.Module):
    def forward(self, x: Any, mask: Any) -> Any:
        return x + 1 if torch.onnx.is_in_onnx_export() else x - 1


@module_with(lambda: {"calls": [0]})
def Random(self, x: Any, mask: Any) -> Any:
    """It differs for a reason that is no switch of PyTorch."""
    return x + 1 if torch.compiler.is_compiling() else x * 3


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Encoder, "torch.backends.mha.set_fastpath_enabled"),
        (InOnnx, "torch.onnx.is_in_onnx_export"),
        (Random, "the program that PyTorch captured differs from the module"),
    ],
)
def test_the_switch_that_makes_a_module_differ_is_named(make: Any, words: str) -> None:
    mask = torch.tensor([[False] * 4, [False, False, True, True]])
    before = torch.backends.mha.get_fastpath_enabled()
    with pytest.raises(ow.ExportError) as caught:
        ow.export(make().eval(), (X, mask), verify=True)
    assert "OW828" in str(caught.value)
    assert words in str(caught.value)
    assert torch.backends.mha.get_fastpath_enabled() == before
    assert not torch.onnx.is_in_onnx_export()


def test_a_module_that_asks_and_computes_the_same_is_verified() -> None:
    class Same(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + x if torch.onnx.is_in_onnx_export() else x * 2

    assert ow.export(Same(), (X,), verify=True).report.verification.ok


# -- torch.onnx's own tools ------------------------------------------------------------------------


class Nested(torch.nn.Module):
    def forward(self, x: Any, pair: Any) -> Any:
        return {"sum": x + pair[0], "rest": [pair[1] * 2, x.mean()]}


@pytest.mark.parametrize("export", [ow.export, torch_onnx.export])
@pytest.mark.parametrize(
    ("module", "args"),
    [
        (torch.nn.Linear(8, 2), (X,)),
        (Nested(), (X, (X, X))),
        (torch.nn.LSTM(8, 3), (X,)),
    ],
)
def test_tools_of_torch_take_every_program(export: Any, module: Any, args: Any) -> None:
    program = export(module, args)
    assert_onnx_program(program)
    assert_onnx_program(program, args=args, backend="reference")
    found = verify_onnx_program(program)
    assert all(info.max_abs_diff < 1e-4 for info in found)
    assert len(found) == len(program.model.graph.outputs)
    if isinstance(module, torch.nn.Linear):
        inner = verify_onnx_program(program, args, compare_intermediates=True)
        assert all(info.max_abs_diff < 1e-4 for info in inner)


def test_a_call_of_the_user_has_nested_results() -> None:
    program = ow.export(Nested(), (X, (X, X)))
    assert set(program(X, (X, X))) == {"sum", "rest"}
    assert isinstance(ow.export(torch.nn.ReLU(), (X,))(X), torch.Tensor)


def test_a_wrong_model_is_found_by_the_tools() -> None:
    table = {"aten::relu": lambda op, x: op.Neg(x)}
    program = ow.export(torch.nn.ReLU(), (X,), custom_translation_table=table)
    with pytest.raises(AssertionError):
        assert_onnx_program(program)
    assert verify_onnx_program(program)[0].max_abs_diff > 0.1


def test_the_tools_are_modules_of_this_package_too() -> None:
    from onnxwright.torch_onnx.testing import assert_onnx_program as ours
    from onnxwright.torch_onnx.verification import VerificationInfo

    assert ours is assert_onnx_program
    assert torch_onnx.verification.VerificationInfo is VerificationInfo


# -- dataclasses -----------------------------------------------------------------------------------


@dataclasses.dataclass
class Batch:
    tokens: torch.Tensor
    mask: Any = None
    more: Any = None


@dataclasses.dataclass
class Unknown:
    tokens: torch.Tensor


torch.export.register_dataclass(Batch, serialized_type_name="tests.Batch")


class Takes(torch.nn.Module):
    def forward(self, b: Any) -> Any:
        return Batch(b.tokens * b.mask, b.mask)


N = {0: "n"}


@pytest.mark.parametrize(
    "shapes",
    [
        ({"tokens": N, "mask": N},),
        {"b": {"tokens": N, "mask": N}},
        ([N, N],),
        (Batch(N, N),),
        {"b": Batch(tokens=N, mask=N)},
        True,
    ],
    ids=str,
)
def test_a_dataclass_takes_every_form_of_dynamic_shapes(shapes: Any) -> None:
    given = Batch(torch.ones(2, 3), torch.ones(2, 3))
    program = ow.export(Takes(), (given,), dynamic_shapes=shapes)
    found = program(Batch(torch.ones(5, 3), torch.full((5, 3), 2.0)))
    assert isinstance(found, Batch)
    assert found.tokens.shape == (5, 3)


def test_dataclasses_may_be_nested_in_other_inputs() -> None:
    class Deep(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x["b"][0].tokens + x["b"][1]

    given = ({"b": [Batch(torch.ones(2, 3)), torch.ones(2, 3)]},)
    program = ow.export(Deep(), given, dynamic_shapes=({"b": [{"tokens": N}, N]},))
    assert program({"b": [Batch(torch.ones(4, 3)), torch.ones(4, 3)]}).shape == (4, 3)


def test_a_field_that_does_not_exist_is_an_error() -> None:
    given = Batch(torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(ow.ExportError, match="OW825.*dynamic_shapes"):
        ow.export(Takes(), (given,), dynamic_shapes=({"token": N},))


@each("nest", [lambda b: (b,), lambda b: ([b],), lambda b: ({"x": b},)])
def test_a_dataclass_that_pytorch_does_not_know_is_to_be_registered(nest: Any) -> None:
    with pytest.raises(ow.ExportError, match=r"register_dataclass\(Unknown\)"):
        ow.export(lambda b: b, nest(Unknown(X)))


# -- tensors in messages, weights without data -----------------------------------------------------


@each(
    "given",
    [
        {"dynamic_shapes": ({0: X},)}, {"dynamic_shapes": (X,)}, {"input_names": [X]},
        {"capture": X}, {"opset_version": X}, {"report": X}, {"assume": X}, {"mutations": X},
        {"custom_translation_table": {"aten::relu": [X]}}, {"verify": [[X] * 3]},
    ],
)  # fmt: skip
def test_messages_say_the_type_of_a_tensor_and_not_its_numbers(given: Any) -> None:
    with pytest.raises(ow.ExportError) as caught:
        ow.export(torch.nn.ReLU(), (X,), **given)
    first = str(caught.value).splitlines()[0]
    assert len(first) < 300
    assert "tensor([" not in first


class Norms(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = torch.nn.Conv1d(4, 3, 1), torch.nn.BatchNorm1d(3)
        self.last = torch.nn.Linear(8, 2, bias=False)

    def forward(self, x: Any) -> Any:
        return self.last(self.norm(self.conv(x))) + (self.last.weight * 2).sum()


@pytest.mark.parametrize("model", [Norms().eval(), torch.nn.LSTM(8, 3)])
def test_a_file_without_weights_has_the_names_of_the_module(model: Any, tmp_path: Any) -> None:
    import numpy as np
    import onnx
    import onnxruntime

    program = torch_onnx.export(model, (X,), tmp_path / "m.onnx", export_params=False)
    proto = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(proto, full_check=True)
    state = {k: v.numpy() for k, v in model.state_dict().items()}
    inputs = [v.name for v in proto.graph.input][1:]
    assert set(inputs) <= set(state)
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    feeds = {session.get_inputs()[0].name: X.numpy(), **{n: state[n] for n in inputs}}
    wanted = torch.utils._pytree.tree_leaves(model(X))
    for got, value in zip(session.run(None, feeds), wanted, strict=True):
        np.testing.assert_allclose(got, value.detach().numpy(), rtol=1e-4, atol=1e-5)
