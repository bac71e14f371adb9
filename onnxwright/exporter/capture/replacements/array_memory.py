"""Tensors of a program that have the memory of an array of numpy, or of bytes.

PyTorch keeps such a constant by reference: what the program writes to the array afterwards would
change what it had read before.  A constant has the values of the moment in which it is read; what
no constant can be, a tensor that is read after its array was written, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import PythonKeyTracer

from onnxwright.exporter.capture.control.places import is_array
from onnxwright.exporter.capture.control.store import current
from onnxwright.exporter.capture.graphs.writes import memory_of, viewed, written_arguments
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.errors import ArrayMemoryError
from onnxwright.exporter.torch_internals import FakeTensor, modes_disabled


def values_kept(changes: Changes, model: Any) -> None:
    """Constants that have the memory of an array have the values of when they are read."""
    arrays, create = _Arrays(model), PythonKeyTracer.create_proxy

    def create_proxy(
        tracer: Any, kind: str, target: Any, args: Any, kwargs: Any, *more: Any, **named: Any
    ) -> Any:
        tensors = [*_tensors(args), *_tensors(kwargs)]
        arrays.check_read(tensors)
        of_arrays = [t for t in tensors if arrays.has(t)]
        if of_arrays:
            args, kwargs = arrays.copied(args), arrays.copied(kwargs)
        proxy = create(tracer, kind, target, args, kwargs, *more, **named)
        if of_arrays:
            arrays.note_constants(tracer.root, proxy.node, of_arrays)
        arrays.check_written(proxy.node)
        return proxy

    changes.attribute(PythonKeyTracer, "create_proxy", create_proxy)


class _Arrays:
    """The tensors of one try that have the memory of arrays.

    Args:
        model: whose parameters and buffers are inputs of the program, whatever memory they have.

    Fields:
        values: identity of such a tensor -> it, and a copy of what it had when it was read last.
        constants: nodes of copies -> the tensor, and the copy.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._held = {name: tensor for name, tensor in _held_by(model) if _array_memory(tensor)}
        self._of_the_model = set(map(_array_memory, self._held.values()))
        self.values: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.constants: dict[fx.Node, tuple[torch.Tensor, torch.Tensor]] = {}

    def has(self, value: Any) -> bool:
        """Whether a value is a tensor of the memory of an array, and no buffer of the model."""
        memory = _array_memory(value)
        return memory is not None and memory not in self._of_the_model

    def copied(self, value: Any) -> Any:
        """Arguments with copies in the place of tensors of arrays."""
        if self.has(value):
            return self.read_last(value)[1]
        if isinstance(value, dict):
            return {key: self.copied(v) for key, v in value.items()}
        return type(value)(map(self.copied, value)) if type(value) in (list, tuple) else value

    def read_last(self, tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """A tensor and a copy of it, the same one as long as nobody writes to the array."""
        last_read = self.values.get(id(tensor))
        if last_read is None or not _is_equal(*last_read):
            with modes_disabled():
                last_read = self.values[id(tensor)] = tensor, tensor.clone()
        return last_read

    def note_constants(self, root: Any, node: fx.Node, tensors: list[torch.Tensor]) -> None:
        """Note which nodes are copies of tensors, that an operator reads.

        Args:
            root: has the constants of the graph.
            node: the operator.
            tensors: those that it was called with.
        """
        read = {id(copy): (tensor, copy) for tensor, copy in map(self.read_last, tensors)}
        for input_node in node.all_input_nodes:
            constant = (
                getattr(root, input_node.target, None) if input_node.op == "get_attr" else None
            )
            if id(constant) in read:
                self.constants[input_node] = read[id(constant)]

    def check_read(self, tensors: list[Any]) -> None:
        """Refuse to read a view of a copy whose array was written since the copy was made.

        Raises:
            ArrayMemoryError: it was.
        """
        for proxy in tensors if self.constants else ():
            constant = self.constant_of(proxy.node) if isinstance(proxy, fx.Proxy) else None
            if constant is not None and not _is_equal(*constant):
                raise ArrayMemoryError("reads a tensor whose array was written since")

    def check_written(self, node: fx.Node) -> None:
        """Refuse an operator that writes to the memory of an array.

        Raises:
            ArrayMemoryError: it does.
        """
        for written in written_arguments(node) if self.constants or self._held else ():
            if self.constant_of(written) is not None or self._has_array_of(written):
                raise ArrayMemoryError("writes to a tensor of an array")

    def _has_array_of(self, node: fx.Node) -> bool:
        """Whether a node is a parameter or buffer, or a view, of an array that the program has."""
        memory = memory_of(node) if self._held else 0
        for name, tensor in _held_by(self._model) if memory else ():
            if name in self._held and tensor.untyped_storage()._cdata == memory:
                return _is_array_reached(self._held[name])
        return False

    def constant_of(self, node: fx.Node | None) -> tuple[torch.Tensor, torch.Tensor] | None:
        """The tensor and the copy that a node is, or is a view of; None for other nodes."""
        while node is not None and node not in self.constants:
            node = _viewed(node)
        return None if node is None else self.constants[node]


def _held_by(model: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The parameters and buffers of a model by their names; while PyTorch traces, stand-ins."""
    if isinstance(model, torch.nn.Module):
        yield from model.named_parameters(remove_duplicate=False)
        yield from model.named_buffers(remove_duplicate=False)


def _is_array_reached(tensor: torch.Tensor) -> bool:
    """Whether the program has an array with the memory of a tensor."""
    store = current()
    kept = [] if store is None or store.snapshot is None else store.snapshot.kept
    begin = tensor.untyped_storage().data_ptr()
    end = begin + tensor.untyped_storage().nbytes()
    for array in [one.items.owner for one in kept if is_array(one.items.owner)]:
        start = array.__array_interface__["data"][0]
        if start < end and begin < start + array.nbytes:
            return True
    return False


def _array_memory(value: Any) -> int | None:
    """The memory of a tensor that PyTorch did not make itself; None for that of other tensors."""
    if not isinstance(value, torch.Tensor) or isinstance(value, FakeTensor):
        return None
    if value.layout is not torch.strided or value.device.type != "cpu":
        return None
    try:
        storage = value.untyped_storage()
        return None if storage.resizable() else int(storage.data_ptr())
    except (NotImplementedError, RuntimeError):  # of torch.func, of a subclass that wraps others
        return None


def _viewed(node: fx.Node) -> fx.Node | None:
    """The node whose memory a node has in PyTorch; None if it has memory of its own."""
    of = viewed(node)
    if node.target is torch.ops.aten.lift_fresh_copy.default:
        of = node.all_input_nodes[0]
    elif of is not None and of.op != "get_attr" and memory_of(of) != memory_of(node):
        return None  # `reshape`, `contiguous` and `to` copy some tensors
    return of


def _is_equal(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Whether tensors have the same bytes."""
    with modes_disabled():
        first, second = (t.contiguous().reshape(-1).view(torch.uint8) for t in (one, two))
        return bool(torch.equal(first, second))


def _tensors(value: Any) -> list[Any]:
    """The tensors and proxies among arguments, which may be in lists."""
    if isinstance(value, (torch.Tensor, fx.Proxy)):
        return [value]
    items = value.values() if isinstance(value, dict) else value
    return [t for v in items for t in _tensors(v)] if isinstance(value, (list, tuple, dict)) else []
