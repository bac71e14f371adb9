"""Runs one ATen operator in every mode and compares it with PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from onnxwright.atenlib.complexes import Complex, pack, unpack
from onnxwright.atenlib.widen import AtenTracingBackend
from onnxwright.exporter.torch_types import dtype_of, to_numpy
from onnxwright.ir.builder import Recorder
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.ops import Ops
from onnxwright.sweep import aten_runs
from onnxwright.sweep.tape import Call
from onnxwright.types.kinds import TensorType
from onnxwright.types.promotion import real_of


class _SymbolicPlay(aten_runs._GraphPlay):
    """Inputs whose sizes the graph is not told."""

    def __init__(self, op: Ops, dynamic: tuple[int, ...]) -> None:
        super().__init__(op)
        self.dynamic = dynamic

    def outside(self, tensor: torch.Tensor) -> Any:
        if len(self.feeds) not in self.dynamic:
            return super().outside(tensor)
        array = to_numpy(tensor)
        name = f"x{len(self.feeds)}"
        dtype = dtype_of(tensor.dtype)
        shape: tuple[int | str, ...] = tuple(f"{name}_{n}" for n in range(array.ndim))
        if dtype.is_complex:
            array = np.stack([array.real, array.imag], axis=-1)
            shape = (*shape, 2)
        value = self.op.backend.input(name, TensorType(real_of(dtype), shape))
        self.feeds[name] = array
        return unpack(self.op, value) if dtype.is_complex else value


def run_dynamically(call: Call, dynamic: tuple[int, ...], opset: int) -> list[Any]:
    """The results of a call as a graph; the inputs numbered in `dynamic` have unknown sizes."""
    backend = AtenTracingBackend(Recorder(), Opset("", opset))
    play = _SymbolicPlay(Ops(backend), dynamic)
    play.play([call])
    values = play.results(call.result)
    packed = [pack(play.op, v) if isinstance(v, Complex) else v for v in values]
    results = [aten_runs.Output(n, isinstance(v, Complex)) for n, v in enumerate(values)]
    built = aten_runs.BuiltGraph(backend.to_model_proto(packed), play.feeds, results)
    return aten_runs.run_built(built, play.feeds)


def outcomes(
    target: Any,
    *args: Any,
    dynamic: tuple[int, ...] = (0,),
    opset: int = 23,
    expected: Any = None,
    **kwargs: Any,
) -> tuple[list[Any], dict[str, list[Any]]]:
    """What PyTorch gives, and what we give in each mode.

    Args:
        target: a torch `OpOverload`.
        args, kwargs: its arguments.
        dynamic: which tensors (in order of use) have unknown sizes in the mode "dynamic".
        opset: the version of the standard opset.
        expected: the result, where PyTorch has no kernel for the CPU.

    Returns:
        PyTorch's results, and ours by mode.
    """
    result = target(*args, **kwargs) if expected is None else expected
    call = Call(target, args, kwargs, result)
    ours = {
        "eager": aten_runs.run_eagerly([call], result, opset),
        "graph": aten_runs.run_as_graph([call], result, opset),
    }
    if dynamic:
        ours["dynamic"] = run_dynamically(call, dynamic, opset)
    return aten_runs.leaves(result), ours


def check(target: Any, *args: Any, tol: tuple[float, float] | None = None, **kwargs: Any) -> None:
    """Assert that every mode gives what PyTorch gives: values, dtypes and shapes."""
    theirs, modes = outcomes(target, *args, **kwargs)
    options = {} if tol is None else {"rtol": tol[0], "atol": tol[1]}
    for mode, ours in modes.items():
        assert len(ours) == len(theirs)
        for n, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            torch.testing.assert_close(
                a,
                b,
                equal_nan=True,
                msg=lambda m, n=n, mode=mode: f"{mode}, result {n}: {m}",
                **options,
            )
