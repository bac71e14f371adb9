"""Several nodes that become one: root mean squares, rotary embeddings, attention, padding."""

from __future__ import annotations

from typing import Any

import onnx
import onnx_ir as ir
import pytest
import torch
from torch import nn

import onnxwright as ow
from onnxwright.optimizer.fusing import is_typed
from tests.exporter.programs import operators
from tests.harness.modules import module_with
from tests.harness.tables import each

B, S = "batch", "length"


class RootMeanSquare(nn.Module):
    """As the models of transformers write it."""

    def __init__(self, power: float = 2, axis: int = -1, plus: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(8))
        self.power, self.axis, self.plus = power, axis, plus

    def forward(self, x):
        kind = x.dtype
        x = x.float()
        mean = x.pow(self.power).mean(self.axis, keepdim=True)
        x = x * torch.rsqrt(mean + 1e-5)
        return (self.weight + self.plus) * x.to(kind)


@pytest.mark.parametrize("plus", [0.0, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_root_mean_square_is_one_node(plus: float, dtype) -> None:
    model, x = RootMeanSquare(plus=plus).to(dtype).eval(), torch.randn(2, 3, 8).to(dtype)
    program = ow.export(model, (x,), dynamic_shapes=({0: B, 1: S},), verify=True)
    assert operators(program) == {"RMSNormalization": 1}


@pytest.mark.parametrize(
    ("given", "opset"), [({"power": 3}, 23), ({"axis": 1}, 23), ({}, 22)], ids=str
)
def test_what_is_no_root_mean_square_stays(given: dict[str, Any], opset: int) -> None:
    x = torch.rand(2, 8, 8)
    program = ow.export(RootMeanSquare(**given).eval(), (x,), opset_version=opset, verify=True)
    assert "RMSNormalization" not in operators(program)


class Rotary(nn.Module):
    """Queries and keys turned by angles, as the models of transformers write it."""

    def __init__(self, first: int = 4) -> None:
        super().__init__()
        self.first = first
        self.register_buffer("steps", 1 / 10 ** torch.arange(0, 1, 0.25))

    def turned(self, x):
        return torch.cat((-x[..., self.first :], x[..., : self.first]), dim=-1)

    def forward(self, q, k, places):
        angles = places[:, :, None].float() * self.steps[None, None]
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos()[:, None], angles.sin()[:, None]
        return q * cos + self.turned(q) * sin, k * cos + self.turned(k) * sin


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("dynamic", [False, True])
def test_rotary_embeddings_are_one_node_each(rows: int, dynamic: bool) -> None:
    inputs = (torch.randn(2, 4, 3, 8), torch.randn(2, 2, 3, 8), torch.arange(3).repeat(rows, 1))
    shapes: Any = None
    if dynamic:
        heads = {0: B, 2: S}
        shapes = (heads, heads, {0: B, 1: S} if rows > 1 else {1: S})
    program = ow.export(Rotary().eval(), inputs, dynamic_shapes=shapes, verify=True)
    found = operators(program)
    assert found["RotaryEmbedding"] == 2
    # The angles of one row are written out for the batch, once for both.
    assert found.get("Expand", 0) == (2 if rows == 1 else 0)
    assert (found["Cos"], found["Sin"]) == (1, 1)
    assert not {"Neg", "Slice", "Add"} & set(found)


def test_what_is_no_rotary_embedding_stays() -> None:
    inputs = (torch.randn(2, 4, 3, 8), torch.randn(2, 2, 3, 8), torch.arange(3)[None])
    program = ow.export(Rotary(first=2).eval(), inputs, verify=True)
    assert "RotaryEmbedding" not in operators(program)


@module_with(lambda axis: {"axis": axis})
def Grouped(self, q, k, v):
    """Attention whose keys and values several heads share."""

    def repeated(x):
        b, heads, s, d = x.shape
        x = x.unsqueeze(self.axis)
        x = x.expand(b, heads, 2, s, d) if self.axis == 2 else x.expand(b, 2, heads, s, d)
        return x.reshape(b, heads * 2, s, d)

    return nn.functional.scaled_dot_product_attention(q, repeated(k), repeated(v))


@pytest.mark.parametrize(("axis", "stays"), [(2, False), (1, True)])
def test_shared_heads_are_not_repeated(axis: int, stays: bool) -> None:
    q, k = torch.randn(2, 4, 3, 8), torch.randn(2, 2, 3, 8)
    shapes = ({0: B, 2: S},) * 3
    program = ow.export(Grouped(axis).eval(), (q, k, k), dynamic_shapes=shapes, verify=True)
    assert ("Expand" in operators(program)) is stays
    if not stays:
        assert operators(program) == {"Attention": 1}


@pytest.mark.parametrize(
    ("pad", "count"),
    [
        (lambda: nn.ZeroPad2d((1, 2, 3, 0)), 0),
        (lambda: nn.ConstantPad2d(1, 2.0), 1),
        (lambda: nn.ReflectionPad2d(1), 1),
        (lambda: nn.ZeroPad2d((-1, 0, 0, 0)), 1),
    ],
)
def test_a_convolution_pads_with_zeros_itself(pad, count: int) -> None:
    model = nn.Sequential(pad(), nn.Conv2d(2, 3, 3, padding=1)).eval()
    program = ow.export(model, (torch.randn(1, 2, 6, 6),), verify=True)
    assert operators(program)["Conv"] == 1
    assert len(program.model.graph) == 1 + count


# -- types of what is written ----------------------------------------------------------------------


@module_with(
    lambda plus, order: {"weight": nn.Parameter(torch.randn(8)), "plus": plus, "order": order}
)
def WideScale(self, x):
    """As Gemma's: normalized and scaled in single precision, whatever the weights are."""
    y = x.float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
    if self.order == "scale first":
        return (y * (self.plus + self.weight.float())).type_as(x)
    if self.order == "in single precision":
        return y * self.weight.float()
    return y.type_as(x) * self.weight


@pytest.mark.share(3)
@pytest.mark.parametrize("order", ["scale first", "in single precision", "cast first"])
@pytest.mark.parametrize("plus", [0.0, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_norm_of_mixed_types_loads(dtype: Any, plus: float, order: str) -> None:
    model, x = WideScale(plus, order).to(dtype).eval(), torch.randn(2, 3, 8).to(dtype)
    program = ow.export(model, (x,), dynamic_shapes=({0: B, 1: S},), verify=True)
    if dtype is not torch.bfloat16 or order != "cast first":  # the runtime's Mul has no bfloat16
        assert operators(program)["RMSNormalization"] == 1
    plain = ow.export(model, (x,), target="any").model_proto
    onnx.checker.check_model(plain, full_check=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gemma3_in_half_precision_loads(dtype: Any) -> None:
    transformers = pytest.importorskip("transformers", reason="Gemma is of transformers")
    config = transformers.Gemma3TextConfig(
        vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, head_dim=8,
        num_attention_heads=2, num_key_value_heads=1, sliding_window=4, use_cache=False,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.Gemma3ForCausalLM(config).to(dtype).eval()
    inputs = {
        "input_ids": torch.tensor([[3, 9, 4, 7, 1]]),
        "attention_mask": torch.ones(1, 5).long(),
    }
    program = ow.export(model, kwargs=inputs, opset_version=23)
    assert operators(program)["RMSNormalization"] >= 8
    wanted = model(**inputs).logits.float()
    torch.testing.assert_close(program(**inputs)["logits"].float(), wanted, rtol=0.05, atol=0.05)


TYPES = {
    "RMSNormalization": [("FLOAT16 FLOAT16", "FLOAT16", True), ("FLOAT16 FLOAT", "FLOAT", False),
                         ("FLOAT16 FLOAT", "FLOAT16", False), ("FLOAT FLOAT", "FLOAT16", False),
                         ("INT64 INT64", "INT64", False), ("FLOAT ?", "FLOAT", False)],
    "Add": [("INT64 INT64", "INT64", True), ("INT64 FLOAT", "FLOAT", False)],
    "CastLike": [("INT64 FLOAT", "FLOAT", True), ("INT64 FLOAT", "INT64", False)],
    "Concat": [("FLOAT FLOAT FLOAT", "FLOAT", True), ("FLOAT FLOAT DOUBLE", "FLOAT", False)],
    "Where": [("BOOL FLOAT FLOAT", "FLOAT", True), ("INT64 FLOAT FLOAT", "FLOAT", False)],
    "NoSuchOperator": [("FLOAT", "FLOAT", False)],
}  # fmt: skip


@each(
    ("kind", "inputs", "output", "wanted"),
    [(kind, *case) for kind, found in TYPES.items() for case in found],
)
def test_what_a_fusion_writes_has_the_types_of_its_operator(
    kind: str, inputs: str, output: str, wanted: bool
) -> None:
    values = []
    for word in inputs.split():
        dtype = None if word == "?" else ir.TensorType(ir.DataType[word])
        values.append(ir.Value(name="v", type=dtype, shape=ir.Shape([2])))
    attrs = [ir.AttrInt64("axis", 0)] if kind == "Concat" else []
    node = ir.Node("", kind, values, attrs)
    assert is_typed(node, ir.DataType[output], 23) is wanted
