"""Operators on tensors that wrap others: what they do to the inner tensors.

`torch.export` records an operator on a wrapper whose class has `__torch_dispatch__` as it is; its
class says what to run in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg
from torch.utils._python_dispatch import transform_subclass

from onnxwright.exporter.torch_internals import pytree
from onnxwright.exporter.weights.wrappers import Wrapped, inner_tensors, is_wrapper


def takes_wrapped(args: Any, kwargs: Any) -> bool:
    """Whether a value that is made of others is among arguments."""
    return any(isinstance(x, Wrapped) for x in pytree.tree_leaves((args, kwargs), is_leaf=_whole))


def unwrapped(t: Any, node: Any, args: Any, kwargs: Any) -> Any:
    """The results of a node on wrappers, by the operators that their class runs.

    Returns:
        The results; those that are wrappers again are `Wrapped`.

    Raises:
        NotImplementedError: the class of the wrapper does not say what the operator does.
    """
    fakes = map_arg((node.args, node.kwargs), lambda n: n.meta.get("val"))
    flat, spec = pytree.tree_flatten(fakes)
    leaves = pytree.tree_leaves((args, kwargs), is_leaf=_whole)
    inputs: list[tuple[Any, Any]] = []  # inner fake tensors or sizes, with their values
    for fake, value in zip(flat, leaves, strict=True):
        if isinstance(fake, (torch.Tensor, torch.SymInt)):
            inputs += _parts(fake, value)
    wrapped_results: list[Any] = []

    def run(*inner: Any) -> Any:
        rest = iter(inner)
        filled = [
            _rebuilt(x, rest) if isinstance(x, (torch.Tensor, torch.SymInt)) else x for x in flat
        ]
        positional, named = pytree.tree_unflatten(filled, spec)
        results = pytree.tree_leaves(node.target(*positional, **named))
        wrapped_results[:] = results
        return [part for x in results for part, _ in _parts(x, None)]

    graph = make_fx(run, pre_dispatch=False)(*(fake for fake, _ in inputs))
    values = iter(t.run(graph, [value for _, value in inputs]))
    results = [_valued(x, values) for x in wrapped_results]
    return results if isinstance(node.meta.get("val"), (tuple, list)) else results[0]


def _whole(x: Any) -> bool:
    return not isinstance(x, (list, tuple, dict))


def _parts(fake: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """The plain tensors of a wrapper, each with its value where it has one."""
    if not is_wrapper(fake):
        yield fake, value
        return
    for part in inner_tensors("", fake):
        inner = value.parts[part.attr] if isinstance(value, Wrapped) else None
        yield from _parts(part.tensor, inner)


def _rebuilt(fake: Any, inner: Iterator[Any]) -> Any:
    """A wrapper of other inner tensors; a plain tensor is the next one."""
    if not is_wrapper(fake):
        return next(inner)
    return transform_subclass(fake, lambda attr, tensor: _rebuilt(tensor, inner))


def _valued(fake: Any, values: Iterator[Any]) -> Any:
    """The value of a result."""
    if not is_wrapper(fake):
        return next(values)
    return Wrapped({p.attr: _valued(p.tensor, values) for p in inner_tensors("", fake)})
