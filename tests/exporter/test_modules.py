"""Library modules, small and common ones: each exported, run and compared with PyTorch."""

from __future__ import annotations

import pytest
import torch
from torch import nn, randint, randn
from torch.nn import functional as F

import onnxwright as ow
from tests.exporter.programs import Program, Programs, run
from tests.harness.modules import module_with

PROGRAMS = Programs()
BATCH = ({0: "batch"},)
ROWS = ({0: "batch", 1: "time"},)

PROGRAMS.add("linear", lambda: nn.Linear(3, 4), randn(2, 3), dynamic=BATCH, ops={"Gemm": 1})
PROGRAMS.add("linear_3d", lambda: nn.Linear(3, 4), randn(2, 5, 3), dynamic=ROWS)
PROGRAMS.add("linear_without_bias", lambda: nn.Linear(3, 4, bias=False), randn(2, 3), dynamic=BATCH)
PROGRAMS.add("bilinear", lambda: nn.Bilinear(3, 4, 2), randn(5, 3), randn(5, 4))
PROGRAMS.add(
    "mlp",
    lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)),
    randn(3, 8),
    dynamic=BATCH,
    ops={"Gemm": 2, "Gelu": 1},
)
PROGRAMS.add(
    "embedding_and_norm",
    lambda: nn.Sequential(nn.Embedding(10, 4), nn.LayerNorm(4)),
    lambda: (randint(0, 10, (2, 3)),),
    dynamic=ROWS,
    ops={"Gather": 1, "LayerNormalization": 1},
)
PROGRAMS.add("embedding_bag", lambda: nn.EmbeddingBag(10, 4), lambda: (randint(0, 10, (2, 3)),))
PROGRAMS.add(
    "conv_net",
    lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    ).eval(),
    randn(2, 3, 8, 8),
    dynamic=BATCH,
)
PROGRAMS.add(
    "conv_dynamic_image",
    lambda: nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 1)),
    randn(2, 3, 6, 7),
    dynamic={"input": {0: "batch", 2: "height", 3: "width"}},
    ops={"Conv": 2, "Relu": 1},
)
PROGRAMS.add(
    "conv1d_circular",
    lambda: nn.Conv1d(2, 3, 3, padding=1, padding_mode="circular"),
    randn(2, 2, 6),
)
PROGRAMS.add(
    "conv_same", lambda: nn.Conv2d(2, 2, (3, 2), padding="same", dilation=2), randn(1, 2, 7, 8)
)
PROGRAMS.add(
    "conv_grouped", lambda: nn.Conv2d(4, 4, 3, groups=4, stride=2), randn(2, 4, 7, 7), dynamic=BATCH
)
PROGRAMS.add("conv_unbatched", lambda: nn.Conv2d(2, 3, 3), randn(2, 6, 6))
PROGRAMS.add(
    "conv_transpose",
    lambda: nn.ConvTranspose2d(3, 2, 3, stride=2, output_padding=1),
    randn(1, 3, 4, 4),
)
PROGRAMS.add("conv3d", lambda: nn.Conv3d(1, 2, 2), randn(1, 1, 3, 4, 5))
PROGRAMS.add(
    "depthwise_separable",
    lambda: nn.Sequential(nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 6, 1), nn.Hardswish()),
    randn(2, 4, 6, 6),
    dynamic=BATCH,
)
PROGRAMS.add("group_norm", lambda: nn.GroupNorm(2, 4), randn(2, 4, 5), dynamic=BATCH)
PROGRAMS.add("instance_norm", lambda: nn.InstanceNorm2d(3, affine=True), randn(2, 3, 4, 4))
PROGRAMS.add("rms_norm", lambda: nn.RMSNorm(4), randn(2, 3, 4), dynamic=BATCH)
PROGRAMS.add("local_response_norm", lambda: nn.LocalResponseNorm(2), randn(2, 4, 5, 5))
PROGRAMS.add("max_pool_indices", lambda: nn.MaxPool2d(2, return_indices=True), randn(2, 3, 6, 6))
PROGRAMS.add(
    "max_unpool",
    lambda: nn.MaxUnpool1d(2),
    lambda: F.max_pool1d(randn(1, 2, 6), 2, return_indices=True),
)
PROGRAMS.add(
    "avg_pool_divisor_override",
    lambda: nn.AvgPool2d(2, divisor_override=3),
    randn(2, 3, 6, 6),
    dynamic=BATCH,
)
PROGRAMS.add(
    "avg_pool_ceil",
    lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False),
    randn(1, 2, 6, 6),
)
PROGRAMS.add("adaptive_avg_pool", lambda: nn.AdaptiveAvgPool2d((3, 2)), randn(2, 3, 7, 5))
PROGRAMS.add("adaptive_max_pool", lambda: nn.AdaptiveMaxPool1d(3), randn(2, 3, 7))
PROGRAMS.add("lp_pool", lambda: nn.LPPool1d(2, 3), randn(1, 2, 7))
PROGRAMS.add(
    "upsample_nearest", lambda: nn.Upsample(scale_factor=2), randn(2, 3, 4, 4), dynamic=BATCH
)
PROGRAMS.add(
    "upsample_bilinear",
    lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
    randn(2, 3, 4, 4),
)
PROGRAMS.add("pixel_shuffle", lambda: nn.PixelShuffle(2), randn(2, 8, 3, 3), dynamic=BATCH)
PROGRAMS.add("channel_shuffle", lambda: nn.ChannelShuffle(2), randn(2, 4, 3, 3))
PROGRAMS.add(
    "fold_unfold", lambda: nn.Sequential(nn.Unfold(2), nn.Fold((4, 4), 2)), randn(1, 3, 4, 4)
)
PROGRAMS.add(
    "reflection_pad", lambda: nn.ReflectionPad2d((1, 2, 1, 0)), randn(2, 3, 4, 4), dynamic=BATCH
)
PROGRAMS.add("zero_pad_negative", lambda: nn.ZeroPad2d((-1, 1, 0, 2)), randn(2, 3, 4, 4))
PROGRAMS.add(
    "flatten_unflatten",
    lambda: nn.Sequential(nn.Flatten(), nn.Unflatten(1, (3, 2))),
    randn(2, 2, 3),
    dynamic=BATCH,
)
PROGRAMS.add(
    "softmax_and_log", lambda: nn.Sequential(nn.Softmax(-1), nn.LogSoftmax(0)), randn(3, 4)
)
PROGRAMS.add("prelu_per_channel", lambda: nn.PReLU(3), randn(2, 3, 4), dynamic=BATCH)
PROGRAMS.add("glu", lambda: nn.GLU(1), randn(2, 6), dynamic=BATCH)
PROGRAMS.add(
    "dropout_eval", lambda: nn.Dropout(0.5).eval(), randn(2, 3), dynamic=BATCH, ops={"Dropout": 0}
)
PROGRAMS.add("dropout_train", lambda: nn.Dropout(0.5).train(), randn(2, 3), compare=False)
PROGRAMS.add("cosine_similarity", lambda: nn.CosineSimilarity(), randn(3, 4), randn(3, 4))
PROGRAMS.add("pairwise_distance", lambda: nn.PairwiseDistance(), randn(3, 4), randn(3, 4))
PROGRAMS.add(
    "cross_entropy_smoothed",
    lambda: nn.CrossEntropyLoss(label_smoothing=0.1),
    lambda: (randn(4, 5), randint(0, 5, (4,))),
    dynamic={"input": {0: "n"}, "target": {0: "n"}},
)
PROGRAMS.add(
    "cross_entropy_weighted",
    lambda: nn.CrossEntropyLoss(weight=torch.arange(1.0, 6.0), ignore_index=2),
    lambda: (randn(4, 5), torch.tensor([0, 2, 4, 1])),
)
PROGRAMS.add(
    "spectral_norm",
    lambda: torch.nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)).eval(),
    randn(2, 3),
)
PROGRAMS.add(
    "weight_norm",
    lambda: torch.nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)),
    randn(2, 3),
    dynamic=BATCH,
)
PROGRAMS.add(
    "transformer_encoder",
    lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2
    ).eval(),
    randn(2, 5, 16),
    dynamic={"src": {0: "batch", 1: "time"}},
)
PROGRAMS.add(
    "transformer_decoder",
    lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, norm_first=True).eval(),
    randn(2, 3, 8),
    randn(2, 5, 8),
    dynamic={"tgt": {0: "batch", 1: "time"}, "memory": {0: "batch", 1: "source"}},
)
PROGRAMS.add(
    "transformer", lambda: nn.Transformer(8, 2, 1, 1, 16).eval(), randn(4, 2, 8), randn(3, 2, 8)
)


@PROGRAMS(
    lambda: (randn(2, 3, 9, 8), torch.rand(2, 3, 2)),
    dynamic={"x": {0: "batch", 2: "height", 3: "width"}, "places": {0: "batch"}},
    sizes=({"*": 0},),
)
def fractional_max_pool(x, places):
    """Windows at given places, with where the maxima are."""
    return F.fractional_max_pool2d(x, (2, 3), (4, 2), _random_samples=places, return_indices=True)


@PROGRAMS(lambda: (randn(2, 3, 6, 7, 8), torch.rand(2, 3, 3)))
def fractional_max_pool_of_volumes(x, places):
    """The same with three axes."""
    return F.fractional_max_pool3d(x, 2, (3, 1, 4), _random_samples=places, return_indices=True)


@PROGRAMS(lambda: (randn(2, 3),), dynamic={"x": {0: "batch"}})
@module_with(lambda: {"block": nn.Sequential(nn.Linear(3, 3), nn.Tanh())})
def Residual(self, x):
    """Submodules of one class, called twice."""
    return x + self.block(x + self.block(x))


@PROGRAMS(lambda: (randn(2, 3),), dynamic={"x": {0: "batch"}})
class ListsOfModules(nn.Module):
    """Modules and parameters in lists and dicts."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
        self.heads = nn.ModuleDict({"a": nn.Linear(3, 1), "b": nn.Linear(3, 2)})
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(3) * n) for n in range(1, 4)])

    def forward(self, x):
        for layer, scale in zip(self.layers, self.scales, strict=True):
            x = layer(x) * scale
        return {name: head(x) for name, head in self.heads.items()}


@pytest.mark.share(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_module_exports_and_computes_what_torch_does(program: Program) -> None:
    """Checker, runtime, values, types and shapes, at other sizes too."""
    run(program)


def test_each_operator_may_be_a_function() -> None:
    model, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval(), randn(2, 3)
    program = ow.export(model, (x,), functions="aten")
    assert [f.name for f in program.model_proto.functions] == ["linear", "relu"]
    assert [node.op_type for node in program.model.graph] == ["linear", "relu"]
    torch.testing.assert_close(program(x), model(x).detach())
