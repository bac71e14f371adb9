"""Runs recorded ATen calls through our functions: eagerly, or as one graph in ONNX Runtime."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch

from onnxwright.atenlib.complexes import Complex, pack, unpack
from onnxwright.atenlib.load import find
from onnxwright.atenlib.widen import AtenEagerBackend, AtenOps, AtenTracingBackend
from onnxwright.eager import select
from onnxwright.eager.ort import sessions
from onnxwright.eager.ort.compiled_models import CompiledModel
from onnxwright.eager.tensor import wrap
from onnxwright.exporter.torch_types import dtype_of, to_numpy
from onnxwright.ir.builder import Recorder
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.backend import is_value
from onnxwright.semantics.ops import Ops
from onnxwright.sweep.aten_schemas import count_returned
from onnxwright.sweep.tape import Call
from onnxwright.sweep.torch_values import from_value, to_value
from onnxwright.types.kinds import TensorType
from onnxwright.types.promotion import real_of


class _Play(ABC):
    """Plays recorded calls with values of ours in the place of tensors."""

    def __init__(self, op: Ops) -> None:
        self.op = op
        self.held: dict[int, tuple[Any, Any]] = {}  # id of a tensor -> itself, its value
        # id of an alias -> the tensor it was made of; `held` keeps both alive
        self.aliases: dict[int, torch.Tensor] = {}
        # A number that a call gave, by type and text: torch makes a new object of it -> ours.
        self.numbers: dict[tuple[type, str], Any] = {}

    @abstractmethod
    def outside(self, tensor: torch.Tensor) -> Any:
        """The value of a tensor that no call made."""

    def convert(self, x: Any) -> Any:
        """An argument as our functions take it."""
        if isinstance(x, torch.Tensor):
            value = self.held.get(id(x))
            if value is None:
                value = self.held[id(x)] = (x, self.outside(x))
            return value[1]
        if isinstance(x, torch.dtype):
            return dtype_of(x)
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
        elif isinstance(tensors, _NUMBERS):
            self.numbers[type(tensors), repr(tensors)] = values

    def play(self, calls: Sequence[Call]) -> None:
        """Run the functions of all calls."""
        for call in calls:
            args = [self.convert(a) for a in call.args]
            kwargs = {k: self.convert(v) for k, v in call.kwargs.items()}
            name = functional_name(call.target)
            result = args[0] if name in SAME else find(name)(self.op, *args, **kwargs)
            miscounted = count_returned(call.target, result)
            if miscounted:
                raise ValueError(miscounted)
            if is_in_place(call.target) and result.onnx_dtype is not args[0].onnx_dtype:
                result = self.op.Cast(result, to=args[0].onnx_dtype)
            self.bind(call.result, result)
            if name in SAME:
                self.aliases[id(call.result)] = call.args[0]
            elif is_in_place(call.target):
                self._bind_aliased(call.args[0], result)

    def _bind_aliased(self, tensor: Any, value: Any) -> None:
        """Give the value of a tensor that was written into to those it is an alias of."""
        while id(tensor) in self.aliases:
            tensor = self.aliases[id(tensor)]
            self.bind(tensor, value)

    def results(self, returned: Any) -> list[Any]:
        """Our values for the leaves of a result; `UNKNOWN` for a number that no call gave."""
        values = []
        for leaf in leaves(returned):
            if isinstance(leaf, torch.Tensor):
                values.append(self.convert(leaf))
            else:
                values.append(self.numbers.get((type(leaf), repr(leaf)), UNKNOWN))
        return values


class _Unknown:
    """Stands for a number in a result that no operator computed, such as a size."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
_NUMBERS = (bool, int, float, complex)

# Operators whose result holds what their argument holds.
SAME = frozenset({"aten::detach", "aten::lift_fresh", "aten::alias", "aten::lift_fresh_copy"})


def is_in_place(target: Any) -> bool:
    """Whether an operator writes its result into its first argument, as `aten::add_` does.

    Args:
        target: a torch `OpOverload`.

    Returns:
        True for names that end in one underscore.

    Example:
        >>> is_in_place(torch.ops.aten.add_.Tensor), is_in_place(torch.ops.aten.add.Tensor)
        (True, False)
    """
    name = target._schema.name
    return name.startswith("aten::__i") or (name.endswith("_") and not name.endswith("__"))


def functional_name(target: Any) -> str:
    """The full name of an operator; of the one without mutation for an in-place one.

    Args:
        target: a torch `OpOverload`.

    Returns:
        The name, as the table of functions has it.

    Example:
        >>> functional_name(torch.ops.aten.add_.Tensor)
        'aten::add.Tensor'
    """
    schema = target._schema
    name, overload = str(schema.name), schema.overload_name
    if is_in_place(target):
        name = name.replace("::__i", "::__") if name.startswith("aten::__i") else name[:-1]
    return f"{name}.{overload}" if overload else name


def leaves(result: Any) -> list[Any]:
    """All tensors and numbers in a nested result, in order.

    Args:
        result: a tensor or number, or lists, tuples and dicts of them; other things (None, a
            dtype) are passed over.

    Example:
        >>> leaves((torch.tensor(1.0), [2, None], {"a": True}))
        [tensor(1.), 2, True]
    """
    if isinstance(result, (torch.Tensor, *_NUMBERS)):
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in leaves(part)]
    return []


class _EagerPlay(_Play):
    def outside(self, tensor: torch.Tensor) -> Any:
        return to_value(tensor)


def run_eagerly(calls: Sequence[Call], result: Any, opset_version: int) -> list[Any]:
    """The results of recorded calls, each of our functions run at once.

    Args:
        opset_version: the version of the standard opset to use.

    Returns:
        A tensor or number for each leaf of `result`; `UNKNOWN` for one that no call gave.
    """
    backend = AtenEagerBackend(Opset("", opset_version))
    play = _EagerPlay(AtenOps(backend))
    with select.frame(backend.opset, "aten", backend):
        play.play(calls)
        return [from_value(v) for v in play.results(result)]


class _GraphPlay(_Play):
    def __init__(self, op: Ops) -> None:
        super().__init__(op)
        self.feeds: dict[str, np.ndarray[Any, Any]] = {}

    def outside(self, tensor: torch.Tensor) -> Any:
        array = to_numpy(tensor)
        name = f"x{len(self.feeds)}"
        dtype = dtype_of(tensor.dtype)
        shape: tuple[int, ...] = tuple(array.shape)
        if dtype.is_complex:
            array = np.stack([array.real, array.imag], axis=-1)
            shape = (*shape, 2)
        kind = TensorType(real_of(dtype), shape)
        value = self.op.backend.input(name, kind)  # type: ignore[attr-defined]
        self.feeds[name] = array
        return unpack(self.op, value) if dtype.is_complex else value


@dataclass(frozen=True)
class Output:
    """A result of a model: the number of the output, and whether it is a complex pair."""

    number: int
    pair: bool


@dataclass(frozen=True)
class BuiltGraph:
    """A model made of recorded calls.

    Fields:
        model: the model; every tensor from outside is an input.
        feeds: the arrays to run it on, by the name of the input.
        results: what each leaf of the result is: an `Output`, or a number known without running.
    """

    model: onnx.ModelProto
    feeds: dict[str, np.ndarray[Any, Any]]
    results: list[Any]


def build_graph(calls: Sequence[Call], result: Any, opset_version: int) -> BuiltGraph:
    """One model for recorded calls; every tensor from outside is an input.

    Args:
        calls: the calls.
        result: what the recorded function returned.
        opset_version: the version of the standard opset to use.

    Returns:
        The model, with the arrays to feed it and what its outputs are.
    """
    backend = AtenTracingBackend(Recorder(), Opset("", opset_version))
    play = _GraphPlay(AtenOps(backend))
    play.play(calls)
    packed: list[Any] = []
    results: list[Any] = []
    for value in play.results(result):
        pair = isinstance(value, Complex)
        if pair or is_value(value):
            results.append(Output(len(packed), pair))
            packed.append(pack(play.op, value) if pair else value)
        else:
            results.append(value)
    model = backend.to_model_proto(packed)
    return BuiltGraph(model, play.feeds, results)


def run_as_graph(calls: Sequence[Call], result: Any, opset_version: int) -> list[Any]:
    """The results of recorded calls, built as one graph and run in ONNX Runtime.

    Args:
        result: what the recorded function returned.
        opset_version: the version of the standard opset to use.

    Returns:
        A tensor or number for each leaf of `result`; `UNKNOWN` for one that no call gave.
    """
    built = build_graph(calls, result, opset_version)
    return run_built(built, built.feeds)


def run_built(built: BuiltGraph, feeds: dict[str, np.ndarray[Any, Any]]) -> list[Any]:
    """Run a model made of recorded calls.

    Args:
        feeds: arrays by the name of the input.

    Returns:
        As `run_as_graph`.
    """
    outputs: Sequence[Any] = ()
    if built.model.graph.output:
        options = sessions.model_options()
        options.intra_op_num_threads = 1  # samples are small, and starting threads is not
        returned = CompiledModel(built.model, session_options=options)(**feeds)
        outputs = returned if isinstance(returned, tuple) else (returned,)
    return [_result(r, outputs) for r in built.results]


def _result(what: Any, outputs: Sequence[Any]) -> Any:
    if not isinstance(what, Output):
        return what
    tensor = from_value(wrap(np.asarray(outputs[what.number])))
    if what.pair:
        return torch.complex(tensor[..., 0].contiguous(), tensor[..., 1].contiguous())
    return tensor
