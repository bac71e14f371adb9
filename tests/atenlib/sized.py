"""Runs ATen functions whose size arguments are values of the graph, known only to the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from onnxwright.atenlib.load import find
from onnxwright.atenlib.widen import AtenTracingBackend
from onnxwright.exporter.torch_types import dtype_of, to_numpy
from onnxwright.ir.builder import Recorder
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.ops import Ops
from onnxwright.sweep import aten_runs
from onnxwright.sweep.aten_runs import functional_name
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType


class Size(int):
    """An int that is an INT64 input of the graph."""


class _Builder:
    def __init__(self, opset: int) -> None:
        self.backend = AtenTracingBackend(Recorder(), Opset("", opset))
        self.feeds: dict[str, np.ndarray[Any, Any]] = {}

    def convert(self, x: Any) -> Any:
        """An argument as our functions take it."""
        if isinstance(x, torch.Tensor):
            shape = tuple(f"x{len(self.feeds)}_{n}" for n in range(x.ndim))
            return self._input(to_numpy(x), TensorType(dtype_of(x.dtype), shape))
        if isinstance(x, Size):
            return self._input(np.array(int(x)), TensorType(DType.INT64, ()))
        if isinstance(x, torch.dtype):
            return dtype_of(x)
        return [self.convert(v) for v in x] if isinstance(x, (list, tuple)) else x

    def _input(self, array: np.ndarray[Any, Any], kind: TensorType) -> Any:
        name = f"x{len(self.feeds)}"
        self.feeds[name] = array
        return self.backend.input(name, kind)


def plain(x: Any) -> Any:
    """An argument as torch takes it."""
    if isinstance(x, Size):
        return int(x)
    return [plain(v) for v in x] if isinstance(x, (list, tuple)) else x


def check_sized(target: Any, *args: Any, opset: int = 23, **kwargs: Any) -> None:
    """Assert that a graph with unknown sizes gives what PyTorch gives.

    Args:
        target: a torch `OpOverload`.
        args, kwargs: its arguments; tensors have no known sizes, each `Size` is an input.
        opset: the version of the standard opset.
    """
    theirs = target(*(plain(a) for a in args), **{k: plain(v) for k, v in kwargs.items()})
    theirs = list(theirs) if isinstance(theirs, (list, tuple)) else [theirs]
    builder = _Builder(opset)
    arguments = [builder.convert(a) for a in args]
    named = {k: builder.convert(v) for k, v in kwargs.items()}
    returned = find(functional_name(target))(Ops(builder.backend), *arguments, **named)
    values = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    results = [aten_runs.Output(n, pair=False) for n in range(len(values))]
    model = builder.backend.to_model_proto(values)
    used = {i.name for i in model.graph.input}
    feeds = {name: array for name, array in builder.feeds.items() if name in used}
    ours = aten_runs.run_built(aten_runs.BuiltGraph(model, feeds, results), feeds)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, equal_nan=True)
