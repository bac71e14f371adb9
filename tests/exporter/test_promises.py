"""Small programs that other exporters get wrong or refuse, one by one."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.version_converter
import pytest
import torch
from torch import nn, randn, tensor
from torch.export import Dim
from torch.nn import functional as F

import onnxwright as ow
from onnxwright import errors
from onnxwright.exporter import checks
from tests.exporter.programs import Program, Programs, check, operators, run
from tests.harness.modules import module_with

PROGRAMS = Programs()
ROWS = ({0: "rows"},)


# -- operators with an argument or an edge that is easily forgotten --------------------------------


@PROGRAMS(lambda: (randn(4, 3, 5),), dynamic=({0: "batch"},))
@module_with(lambda: {"norm": nn.BatchNorm1d(3, momentum=0.3).train()})
def BatchNormInTraining(self, x):
    """The statistics of the batch normalize, and move the running ones."""
    return self.norm(x), self.norm.running_mean + 0, self.norm.num_batches_tracked + 0


@PROGRAMS(lambda: (randn(4, 3), tensor([[0, 1, 0], [2, 2, 2], [0, 0, 3], [1, 1, 1]]), randn(4, 3)))
def scatter_mean(x, index, source):
    with_self = x.scatter_reduce(0, index, source, "mean")
    return with_self, x.scatter_reduce(0, index, source, "mean", include_self=False)


@PROGRAMS(lambda: (tensor(3.0), tensor(0)))
def nonzero_of_a_scalar(x, y):
    return x.nonzero(), y.nonzero()


@PROGRAMS(lambda: (randn(1, 2, 3, 4), tensor([[True, False, True], [False] * 3, [True] * 3])))
def attention_with_a_row_masked_entirely(q, mask):
    return F.scaled_dot_product_attention(q, q, q, attn_mask=mask)


@PROGRAMS(
    lambda: (tensor([1, 2, 3]), tensor([1, 0], dtype=torch.uint8)), dynamic=ROWS + ({0: "n"},)
)
def one_minus_integers(x, mask):
    return 1.0 - x, 1 - mask, 2.5 * x, x / 2, x**2, (1.0 - mask) * -1e4


@PROGRAMS(lambda: (randn(1, 3, 7, 5),), dynamic=({0: "batch"},))
def uneven_adaptive_pools(x):
    return F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_max_pool2d(x, (4, 3))


@PROGRAMS(lambda: (randn(5, 4),), dynamic=ROWS)
def order_statistics(x):
    values, places = x.kthvalue(2, 1)
    middle = x.median(1)
    return values, places, middle.values, x.quantile(0.3, 1), x.mode(1).values, x.msort()[:1]


@PROGRAMS(lambda: (randn(3, 3) + 3 * torch.eye(3), randn(3, 2)))
def linear_algebra(a, b):
    symmetric = a @ a.T + torch.eye(3)
    lower = torch.linalg.cholesky(symmetric)
    return (
        torch.linalg.inv(a),
        torch.linalg.det(a),
        torch.linalg.solve(a, b),
        lower,
        torch.linalg.slogdet(a).logabsdet,
        torch.linalg.matrix_norm(a, 2),
        torch.linalg.eigvalsh(symmetric),
    )


@PROGRAMS(lambda: (torch.linspace(0.1, 3, 12).reshape(3, 4),), dynamic=ROWS)
def special_functions(x):
    return (
        torch.lgamma(x),
        torch.digamma(x),
        torch.special.erfcx(x),
        torch.special.i0e(x),
        torch.special.zeta(x + 1.5, 2.0),
        torch.special.ndtri(x / 4),
        torch.special.xlog1py(x, x),
    )


@PROGRAMS(lambda: (randn(2, 3),), dynamic=ROWS)
def numbers_and_none(x):
    rows = x.shape[0]
    return rows, rows * 2 + 1, rows / 4, rows > 1, 3, 2.5, True, None, "word", x


@PROGRAMS(lambda: (randn(7, 4),), dynamic=ROWS)
def arithmetic_of_sizes(x):
    n = x.shape[0]
    # Torch itself fixes `n` where a truth value is added to it.
    scaled = round(n / 2) + n % 3 + min(n, 3) + max(n, 5)
    return x.new_ones(max(n - 3, 0)), scaled, x[: min(n, 4)], round(n * 0.3, 1), n == 7


@PROGRAMS(lambda: (randn(2, 4, 3, 8),), dynamic=({0: "batch", 2: "time"},))
def complex_rotation(x):
    """Rotary embedding by complex numbers; `rotate` is a constant of the program."""
    angles = torch.outer(torch.arange(x.shape[2], dtype=torch.float32), 1.0 / torch.arange(1, 5))
    rotate = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * rotate).flatten(3)


@PROGRAMS(lambda: (randn(2, 3, dtype=torch.complex64),), dynamic=ROWS)
def complex_in_and_out(z):
    return z * (1 + 2j), z.abs(), z.conj(), z.real


@PROGRAMS(lambda: (randn(2, 6, 8), randn(2, 6, 4)), dynamic=({1: "time"}, {1: "time"}))
class GroupedQueries(nn.Module):
    """Attention of 3 axes, whose keys and values have fewer heads."""

    def forward(self, q, kv):
        q = q.unflatten(-1, (4, 2)).transpose(1, 2)
        kv = kv.unflatten(-1, (2, 2)).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, kv, kv, is_causal=True, enable_gqa=True)
        return y.transpose(1, 2).flatten(2)


@PROGRAMS(lambda: (randn(1, 2, 6).bfloat16(), randn(2, 4).half()))
@module_with(lambda: {"conv": nn.Conv1d(2, 3, 3).bfloat16(), "norm": nn.LayerNorm(4).half()})
def SmallTypes(self, x, y):
    """Convolutions and sums in bfloat16 and float16 keep these."""
    return self.conv(x).relu().mean(-1), self.norm(y).softmax(-1)


@PROGRAMS(lambda: (randn(6, 16), tensor([2, 3, 6], dtype=torch.int32)))
@module_with(lambda: {"weight": nn.Parameter(randn(3, 16, 8))})
def Experts(self, x, ends):
    """A mixture of experts: one grouped product, as recent networks have it."""
    return torch._grouped_mm(x.bfloat16(), self.weight.bfloat16(), offs=ends).float()


@PROGRAMS(lambda: (randn(1, 2, 1, 4), tensor([2])))
@module_with(lambda: {"keys": nn.Buffer(torch.zeros(1, 2, 8, 4))})
def StaticCache(self, k, position):
    """A cache of fixed length, written at a place that is an input."""
    self.keys.index_copy_(2, position, k)
    return self.keys * 1


@pytest.mark.share(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_program_gives_what_torch_gives(program: Program) -> None:
    """Types, shapes and values; at other sizes too."""
    run(program)


# -- opsets ----------------------------------------------------------------------------------------


@pytest.mark.share(3)
@pytest.mark.parametrize("version", [v for v in checks.OPSETS if v >= 9])  # Erf is of opset 9
def test_the_opset_asked_for_is_the_opset_given(version: int) -> None:
    """Nothing is converted afterwards, and no operator is newer."""
    made = check(
        nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU(), nn.Softmax(-1)),
        (randn(2, 4),),
        None,
        ({0: "n"},),
        opset_version=version,
    )
    assert {i.domain: i.version for i in made.model_proto.opset_import}[""] == version
    for node in made.model.graph:
        assert onnx.defs.get_schema(node.op_type, version, "").since_version <= version


# -- types inside ----------------------------------------------------------------------------------


def test_no_pair_of_casts_inside() -> None:
    """float16 needs none at all; the result is float16, as torch's."""

    @module_with(
        lambda: {"layers": nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).half()}
    )
    def Half(self, x: Any) -> Any:
        return self.layers(x) * 2

    made = check(Half(), (randn(3, 4).half(),))
    assert "Cast" not in operators(made)
    assert made(randn(3, 4).half()).dtype == torch.float16


# -- weights and constants -------------------------------------------------------------------------


def test_a_large_constant_is_folded_only_where_it_does_not_duplicate_bytes() -> None:
    """Repeated rows of a constant stay one row; an expression of a constant alone is computed."""
    table = torch.arange(4096, dtype=torch.float32)

    def spread(x: Any) -> Any:
        return x + table.expand(64, 4096), x * 0 + (table * 2 + 1)

    made = check(spread, (randn(64, 4096),))
    held = sum(v.const_value.nbytes for v in made.model.graph.initializers.values())
    assert held < 4 * table.numel() * table.element_size()
    assert len(made.model_proto.SerializeToString()) < 8 * table.numel() * 4


# -- what verification does ------------------------------------------------------------------------


def test_verification_runs_the_checker_the_runtime_and_other_sizes() -> None:
    made = ow.export(nn.Linear(4, 2), (randn(2, 4),), dynamic_shapes=({0: Dim("n", max=9)},))
    found = made.verify()
    assert [check.run for check in found.outputs] == ["given", "other sizes", "smallest sizes"]
    made.model.graph.node(0).attributes["transB"].value  # the node is a Gemm
    broken = ow.export(nn.Linear(4, 2), (randn(2, 4),))
    broken.model.graph.node(0).op_type = "Gemmm"
    assert "onnx.checker" in broken.verify().summary()


def test_a_model_right_for_one_size_only_is_found() -> None:
    def fixed(op: Any, x: Any, shape: Any) -> Any:
        return op.Reshape(x, [2, 8])

    with pytest.raises(errors.ExportError, match="OW828"):
        ow.export(
            lambda x: x.reshape(x.shape[0], 8),
            (randn(2, 2, 4),),
            dynamic_shapes=({0: "n"},),
            custom_translation_table={"aten::reshape": fixed},
            verify=True,
        )


# -- arguments of functions ------------------------------------------------------------------------
