"""Buffers that a module assigns: at the end of its call the buffer of before gets the new value.

`self.b = y` is a write into the buffer in the program, whichever module has it: a write is an
output of the program, and tensors that were read from the buffer before keep what they held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NoReturn

import torch
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter.capture.control.store import current
from onnxwright.exporter.capture.graphs.memory import aliases, node_of
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.places import span_of
from onnxwright.exporter.torch_internals import FakeTensor, pytree, tracing

_Buffers = dict[str, Any]


def assigned_at_the_end(changes: Changes, _: Any) -> None:
    """Write assigned buffers at the end, in the place of PyTorch, which copies those of the root.

    Args:
        changes: undo it.
    """
    changes.attribute(tracing, "register_buffer_assignment_hook", _Hooks)


class _Hooks:
    """Hooks around the call of a module that is traced.

    Args:
        root: the module.
    """

    def __init__(self, root: torch.nn.Module, _: Any) -> None:
        self._root = root
        # In the call that is traced, each buffer has memory of its own.
        held = {id(one._buffers): one._buffers for one in root.modules()}
        count = Counter(map(_memory, (b for names in held.values() for b in names.values())))
        self._shared = {
            (number, name) for number, names in held.items() for name, b in names.items()
            if count[_memory(b)] > 1
        }  # fmt: skip
        self._caches = {
            (id(one._buffers), name)
            for one in root.modules() for name in one._non_persistent_buffers_set
        }  # fmt: skip
        self._before: list[dict[int, tuple[_Buffers, _Buffers]]] = []
        before = root.register_forward_pre_hook(self._begin, prepend=True)
        after = root.register_forward_hook(self._end)
        self._handles = (before, after)

    def remove(self) -> None:
        """Remove them."""
        for handle in self._handles:
            handle.remove()

    def _begin(self, *_: Any) -> None:
        held = (one._buffers for one in self._root.modules())
        store = current()
        if store is not None and store.stand_ins is not None and not self._before:
            store.stand_ins.begin()
        self._before.append({id(names): (names, dict(names)) for names in held})

    def _end(self, _: Any, __: Any, results: Any) -> Any:
        held = self._before.pop()
        if self._before or not any(_assigned(*one) for one in held.values()):
            return results  # a call within the call, or nothing to do
        places = Counter(_memory(b) for names, _ in held.values() for b in names.values())
        assigned = [
            (names, name, old, new)
            for names, before in held.values()
            for name, old, new in _assigned(names, before)
            # Else the next call writes to one tensor by two names, or this one takes one apart.
            if places[_memory(new)] == 1
            and (id(names), name) not in self._shared
            # A buffer that is not saved may change its shape: it is reported, not an output.
            and ((id(names), name) not in self._caches or _form(old) == _form(new))
        ]
        store = current()
        stand_ins = None if store is None else store.stand_ins
        for _, name, old, new in assigned:
            if stand_ins is not None and stand_ins.is_renamed(old):
                _refuse(name, new)
        olds = {_memory(old) for *_, old, _ in assigned}
        results = _with_copies(results, olds)
        news = _with_copies([new for *_, new in assigned], olds)
        for (names, name, old, _), new in zip(assigned, news):
            _write(old, new)
            names[name] = old
        if store is not None:
            store.settle()
        return results


def _refuse(name: str, value: Any) -> NoReturn:
    """Refuse an assignment to a buffer of which the program reads the old tensor by another name.

    In the next call, the names are those of two tensors.
    """
    mode = get_proxy_mode()
    node = None if mode is None else node_of(mode.tracer, value)
    what = f"an assignment to the buffer `{name}`"
    span = user_span() if node is None else span_of(node)
    fail(messages.SharedWrite(what=what, marked="the new tensor", span=span))


def _assigned(names: _Buffers, before: _Buffers) -> Iterator[tuple[str, Any, Any]]:
    """The names of buffers that are others now, and the tensors of before and now."""
    for name, old in before.items():
        new = names.get(name)
        if new is not old and isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
            yield name, old, new


def _form(tensor: Any) -> tuple[Any, list[str]]:
    """The type and the sizes of a tensor, as text: to compare symbolic ones would be a guard."""
    return tensor.dtype, list(map(str, tensor.shape))


def _memory(tensor: Any) -> Any:
    """What tensors have in common that share memory; another object for anything else."""
    if isinstance(tensor, FakeTensor) and tensor.layout is torch.strided:
        return tensor.untyped_storage()._cdata
    return object()


def _with_copies(values: Any, memory: set[Any]) -> Any:
    """Tensors in lists and the like, with copies of those that are, or may be, in some memory."""
    chosen = (a for a in aliases().every if not memory.isdisjoint(a.others.values()))
    memory = memory | {alias.memory for alias in chosen}
    leaves, spec = pytree.tree_flatten(values)
    copied = [_memory(leaf) in memory for leaf in leaves]
    if not any(copied):
        return values
    pairs = zip(leaves, copied)
    return pytree.tree_unflatten([x.clone() if is_copied else x for x, is_copied in pairs], spec)


def _write(buffer: Any, value: Any) -> None:
    """Add a write of a tensor into a buffer to the graph, after all that reads the buffer."""
    mode = get_proxy_mode()
    assert mode is not None
    source = node_of(mode.tracer, value)
    if source is None or source.op == "placeholder":  # nothing computed it: it has no line
        source = node_of(mode.tracer, value.clone())
    assert source is not None
    nodes = (node_of(mode.tracer, buffer), source)
    copy_node = mode.tracer.graph.call_function(torch.ops.aten.copy_.default, nodes)
    copy_node.meta = source.meta
