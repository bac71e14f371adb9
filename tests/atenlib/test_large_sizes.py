"""No constant of a model grows with the sizes of its tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from onnxwright.sweep import aten_runs
from onnxwright.sweep.tape import Call
from tests.harness.tables import each

aten, tv = torch.ops.aten, torch.ops.torchvision
# The tables would be 16 KB to 40 MB.  What a graph folds is at most 4 KB larger than its inputs.
MOST_BYTES = 9_000
LINE = torch.sin(torch.arange(30_000.0))
ROWS = torch.sin(torch.arange(300.0)).reshape(100, 3)
IMAGE = torch.sin(torch.arange(300.0 * 290)).reshape(1, 1, 300, 290)
QUERY = torch.sin(torch.arange(200.0 * 4)).reshape(1, 1, 200, 4)
SQUARE = torch.eye(80) + 0.01 * torch.sin(torch.arange(80.0 * 80)).reshape(80, 80)
WAVE = torch.stft(LINE, 32, 16, return_complex=True, window=torch.ones(32))

CASES: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "cummax": (aten.cummax, (LINE, 0), {}),
    "cummin": (aten.cummin, (LINE, 0), {}),
    "arange": (aten.arange.start_step, (3, 30_000, 2), {}),
    "linspace": (aten.linspace, (0.0, 7.0, 30_000), {}),
    "tril_indices": (aten.tril_indices, (120, 90, 3), {}),
    "triu_indices": (aten.triu_indices, (120, 90, -3), {}),
    "eye": (aten.eye.m, (200, 190), {}),
    "diag_embed": (aten.diag_embed, (LINE[:300],), {}),
    "pdist": (aten.pdist, (ROWS,), {}),
    "attention": (aten.scaled_dot_product_attention, (QUERY, QUERY, QUERY),
                  {"is_causal": True}),
    "adaptive_avg_pool2d": (aten.adaptive_avg_pool2d, (IMAGE, [70, 81]), {}),
    "adaptive_max_pool2d": (aten.adaptive_max_pool2d, (IMAGE, [70, 81]), {}),
    "max_pool2d": (aten.max_pool2d_with_indices, (IMAGE, [5, 4], [3, 2], [2, 1]), {}),
    "max_pool1d": (aten.max_pool1d_with_indices, (LINE.reshape(1, 1, -1), [5], [2], [2]), {}),
    "istft": (aten.istft, (WAVE, 32, 16), {"window": torch.ones(32)}),
    "unfold": (aten.unfold, (LINE, 0, 7, 3), {}),
    "im2col": (aten.im2col, (IMAGE, [3, 3], [1, 1], [1, 1], [1, 1]), {}),
    "as_strided": (aten.as_strided, (LINE, [170, 160], [150, 1]), {}),
    "inverse": (aten.linalg_inv_ex, (SQUARE,), {}),
    "gather_roll": (aten.roll, (LINE, [70], [0]), {}),
    "grid_sampler": (aten.grid_sampler, (IMAGE, torch.zeros(1, 90, 90, 2), 0, 0, False), {}),
    "upsample": (aten._upsample_bilinear2d_aa, (IMAGE, [100, 90], False), {}),
    "ctc": (aten.ctc_loss.IntList,
            (torch.randn(600, 2, 5).log_softmax(2), torch.ones(2, 4, dtype=torch.int64),
             [600, 600], [4, 4]), {}),
    "searchsorted": (aten.bucketize.Tensor, (LINE, LINE[:3]), {}),
    "complex_parts": (aten.complex, (LINE, LINE), {}),
    "median": (aten.median.dim, (LINE, 0), {}),
}  # fmt: skip


def tensors(graph: Any) -> Iterator[Any]:
    """The constants of a graph and of the graphs inside."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("g"):
                yield from tensors(attribute.g)


@each("opset", [18, 23])
@each("name", CASES)
def test_a_model_stays_small(name: str, opset: int) -> None:
    target, args, kwargs = CASES[name]
    overload = getattr(target, "default", target) if hasattr(target, "overloads") else target
    result = overload(*args, **kwargs)
    calls = [Call(overload, args, kwargs, result)]
    built = aten_runs.build_graph(calls, result, opset)
    assert {
        t.name: t.ByteSize() for t in tensors(built.model.graph) if t.ByteSize() > MOST_BYTES
    } == {}
    if name == "inverse" and opset == 18:
        return  # loops of 80 iterations take long in ONNX Runtime; one opset is enough
    ours = aten_runs.run_built(built, built.feeds)
    for a, b in zip(ours, aten_runs.leaves(result), strict=True):
        torch.testing.assert_close(a, b, rtol=2e-4, atol=2e-4)
