"""Which ATen operators a PyTorch call runs, recorded with their arguments before decomposition.

The operators are those that `torch.export` leaves in a graph: composite ones such as
`aten.layer_norm` are seen whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.schema_check_mode import SchemaCheckMode
from torch.utils import _pytree as pytree


class Call(NamedTuple):
    """One operator that ran.

    Fields:
        target: the torch operator.
        args, kwargs: its arguments; tensors are the objects themselves.
        result: what it returned.
    """

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any

    @property
    def name(self) -> str:
        """The full name, `aten::add.Tensor`; without an overload name for the default one."""
        return full_name(self.target)


def full_name(target: Any) -> str:
    """The name of an operator as its schema has it.

    Args:
        target: a torch `OpOverload`.

    Returns:
        `namespace::name`, and `.overload` where it is not the default one.

    Example:
        >>> import torch
        >>> full_name(torch.ops.aten.add.Tensor), full_name(torch.ops.aten.abs.default)
        ('aten::add.Tensor', 'aten::abs')
    """
    schema = target._schema
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


# NOTE: only three classes of modes are let in at this key; of these, this one does nothing else.
class _Recorder(SchemaCheckMode):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self._dispatch_key = torch._C.DispatchKey.PreDispatch
        self.calls: list[Call] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = dict(kwargs or {})
        result = func(*args, **named)
        self.calls.append(Call(func, tuple(args), named, result))
        return result


def record(function: Callable[[], Any]) -> tuple[list[Call], Any]:
    """Run a function and note the operators it calls.

    Args:
        function: it takes nothing.

    Returns:
        The calls in order, and what the function returned; a tensor that a call made is the object
        that is used in the call.

    Example:
        >>> import torch
        >>> x, weight = torch.ones(1, 2), torch.ones(3, 2)
        >>> calls, _ = record(lambda: torch.nn.functional.linear(x, weight))
        >>> [c.name for c in calls]
        ['aten::linear']
    """
    recorder = _Recorder()
    with enable_python_dispatcher(), recorder:
        result = function()
    return recorder.calls, _as_recorded(recorder.calls, result)


def _as_recorded(calls: list[Call], result: Any) -> Any:
    """A result with the objects that calls made in the place of copies that share their memory.

    Torch's functions that create tensors return such copies.
    """
    by_memory = {_memory(t): t for call in calls for t in _tensors(call.result)}
    seen = {id(t) for call in calls for t in _tensors((call.args, call.kwargs, call.result))}

    def recorded(x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or id(x) in seen:
            return x
        return by_memory.get(_memory(x), x)

    return pytree.tree_map(recorded, result)


def _tensors(x: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(x) if isinstance(leaf, torch.Tensor)]


def _memory(x: torch.Tensor) -> Any:
    """What is the same in two tensors that are one view of one memory."""
    if x.layout is not torch.strided:
        return id(x)
    storage = x.untyped_storage()._cdata
    return storage, x.dtype, x.storage_offset(), x.shape, x.stride(), x.is_conj(), x.is_neg()
