"""Runs recorded ATen calls through our functions: eagerly, or as one graph in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import torch

from onnxwright.atenlib.complexes import Complex, pack, unpack
from onnxwright.atenlib.load import find
from onnxwright.atenlib.widen import AtenEagerBackend, AtenTracingBackend
from onnxwright.eager import select
from onnxwright.eager.models import CompiledModel
from onnxwright.eager.tensor import wrap
from onnxwright.ir.builder import Recorder
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.ops import Ops
from onnxwright.testing.tape import Call
from onnxwright.testing.torch_values import TORCH_TO_DTYPE, from_value, to_array, to_value
from onnxwright.types.kinds import TensorType
from onnxwright.types.promotion import real_of


class _Play:
    """Plays recorded calls with values of ours in the place of tensors."""

    def __init__(self, op: Ops) -> None:
        self.op = op
        self.held: dict[int, tuple[Any, Any]] = {}  # id of a tensor -> itself, its value
        self.used: list[str] = []

    def outside(self, tensor: torch.Tensor) -> Any:
        """The value of a tensor that no call made."""
        raise NotImplementedError

    def convert(self, x: Any) -> Any:
        """An argument as our functions take it."""
        if isinstance(x, torch.Tensor):
            found = self.held.get(id(x))
            if found is None:
                found = self.held[id(x)] = (x, self.outside(x))
            return found[1]
        if isinstance(x, torch.dtype):
            return TORCH_TO_DTYPE[x]
        if isinstance(x, (list, tuple)):
            return [self.convert(v) for v in x]
        if isinstance(x, (torch.device, torch.layout, torch.memory_format)):
            return str(x)
        return x

    def bind(self, tensors: Any, values: Any) -> None:
        """Remember what a call made."""
        if isinstance(tensors, torch.Tensor):
            self.held[id(tensors)] = (tensors, values)
        elif isinstance(tensors, (list, tuple)):
            for t, v in zip(tensors, values, strict=True):
                self.bind(t, v)

    def play(self, calls: Sequence[Call]) -> None:
        """Run the functions of all calls."""
        for call in calls:
            name = _functional(call.target)
            self.used.append(name)
            args = [self.convert(a) for a in call.args]
            kwargs = {k: self.convert(v) for k, v in call.kwargs.items()}
            if name in ("aten::detach", "aten::lift_fresh", "aten::alias", "aten::lift_fresh_copy"):
                self.bind(call.result, args[0])
                continue
            result = find(name)(self.op, *args, **kwargs)
            self.bind(call.result, result)

    def results(self, wanted: Any) -> list[Any]:
        """The values of the tensors in a result, flat."""
        return [self.convert(t) for t in flat_tensors(wanted)]


def _functional(target: Any) -> str:
    """The name of an operator; of the one without mutation for an in-place one."""
    schema = target._schema
    name, overload = schema.name, schema.overload_name
    if name.endswith("_") and not name.endswith("__"):
        name = name[:-1]
    return f"{name}.{overload}" if overload else str(name)


def flat_tensors(result: Any) -> list[torch.Tensor]:
    """All tensors in a nested result, in order.

    Args:
        result: a tensor, or lists, tuples and dicts of them; other things are passed over.

    Returns:
        The tensors.
    """
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [t for part in result for t in flat_tensors(part)]
    return []


class _EagerPlay(_Play):
    def outside(self, tensor: torch.Tensor) -> Any:
        return to_value(tensor)


def run_eagerly(calls: Sequence[Call], result: Any, opset_version: int) -> list[torch.Tensor]:
    """The results of recorded calls, each of our functions run at once.

    Args:
        calls: the calls.
        result: what the recorded function returned.
        opset_version: the version of the standard opset to use.

    Returns:
        A tensor for each tensor in `result`.
    """
    backend = AtenEagerBackend(Opset("", opset_version))
    play = _EagerPlay(Ops(backend))
    with select.frame(backend.opset, "aten", backend):
        play.play(calls)
        return [from_value(v) for v in play.results(result)]


class _GraphPlay(_Play):
    def __init__(self, op: Ops, recorder: Recorder) -> None:
        super().__init__(op)
        self.recorder = recorder
        self.feeds: dict[str, np.ndarray[Any, Any]] = {}

    def outside(self, tensor: torch.Tensor) -> Any:
        array = to_array(tensor)
        name = f"x{len(self.feeds)}"
        dtype = TORCH_TO_DTYPE[tensor.dtype]
        shape: tuple[int, ...] = tuple(array.shape)
        if dtype.is_complex:
            array = np.stack([array.real, array.imag], axis=-1)
            shape = (*shape, 2)
        kind = TensorType(real_of(dtype), shape)
        value = self.op.backend.wrap(self.recorder.input(name, kind), kind)  # type: ignore[attr-defined]
        self.feeds[name] = array
        return unpack(self.op, value) if dtype.is_complex else value


def build_graph(
    calls: Sequence[Call], result: Any, opset_version: int
) -> tuple[onnx.ModelProto, dict[str, np.ndarray[Any, Any]], list[bool]]:
    """One model for recorded calls; every tensor from outside is an input.

    Args:
        calls: the calls.
        result: what the recorded function returned.
        opset_version: the version of the standard opset to use.

    Returns:
        The model, the arrays to feed it, and for each output whether it is a complex pair.
    """
    recorder = Recorder()
    opset = Opset("", opset_version)
    backend = AtenTracingBackend(recorder, opset)
    play = _GraphPlay(Ops(backend), recorder)
    play.play(calls)
    values = play.results(result)
    pairs = [isinstance(v, Complex) for v in values]
    packed = [pack(play.op, v) if isinstance(v, Complex) else v for v in values]
    outputs = recorder.own_outputs([v.value for v in packed])
    scope = recorder.scope
    recorder.remove_dead(scope.nodes, outputs)
    graph = ir.Graph(
        scope.inputs,
        outputs,
        nodes=scope.nodes,
        name="aten",
        opset_imports={"": opset_version},
    )
    return ir.to_proto(ir.Model(graph, ir_version=11)), play.feeds, pairs


def run_as_graph(calls: Sequence[Call], result: Any, opset_version: int) -> list[torch.Tensor]:
    """The results of recorded calls, built as one graph and run in ONNX Runtime.

    Args:
        calls: the calls.
        result: what the recorded function returned.
        opset_version: the version of the standard opset to use.

    Returns:
        A tensor for each tensor in `result`.
    """
    model, feeds, pairs = build_graph(calls, result, opset_version)
    if not model.graph.output:
        return []
    outputs = CompiledModel(model)(**feeds)
    several = outputs if isinstance(outputs, tuple) else (outputs,)
    found = []
    for array, pair in zip(several, pairs, strict=True):
        tensor = from_value(wrap(np.asarray(array)))
        found.append(torch.view_as_complex(tensor.contiguous()) if pair else tensor)
    return found
