"""Which function translates a target: the user's, the library's, or torch's decomposition of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch

from onnxwright.atenlib.load import functions
from onnxwright.atenlib.op import AtenFunction
from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter.interop import from_onnxscript, is_onnxscript
from onnxwright.exporter.places import target_name

Lowering = Callable[..., Any]


class Lowerings:
    """The functions of one export.

    Args:
        custom: the user's table: torch operator (or its full name) -> function.
        fallback: asked where neither the user nor the library has a function: a function of the
            full name, that gives a lowering or None.
    """

    def __init__(
        self,
        custom: Mapping[Any, Any] | None = None,
        fallback: Callable[[str], Lowering | None] | None = None,
    ) -> None:
        _check_kinds(custom, fallback)
        self.custom: dict[str, Lowering] = {}
        for key, function in (custom or {}).items():
            if not callable(function):
                _refuse(f"what stands for {key} is no function, but {function!r}", "give functions")
            for name in _names(key):
                self.custom[name] = _as_lowering(function)
        self.fallback = fallback
        self.fallen: dict[str, int] = {}
        self._table = functions()

    def find(self, name: str) -> Lowering | None:
        """The function for a full name; None where there is none.

        Args:
            name: `aten::add.Tensor`.

        Returns:
            A function of (op, *args, **kwargs).
        """
        found = self.custom.get(name) or self._table.get(name)
        if found is None and self.fallback is not None:
            found = self.fallback(name)
            if found is not None:
                self.fallen[name] = self.fallen.get(name, 0) + 1
        return found

    def nearest(self, name: str) -> str:
        """The name in the table that is most like another, for messages."""
        import difflib

        near = difflib.get_close_matches(name, self._table, 1, cutoff=0.7)
        return near[0] if near else ""


def _names(key: Any) -> list[str]:
    """The full names a key of a custom table stands for."""
    if isinstance(key, str):
        _check_name(key)
        return [key]
    if isinstance(key, torch._ops.OpOverloadPacket):
        return [target_name(getattr(key, overload)) for overload in key.overloads()]
    return [target_name(key)]


def _check_kinds(custom: Any, fallback: Any) -> None:
    if not isinstance(custom, (Mapping, type(None))):
        _refuse(f"an object of type {type(custom).__name__}", "give a dict: operator -> function")
    if fallback is not None and not callable(fallback):
        _refuse(
            f"{fallback!r} is no function",
            "give a function from the full name of an operator to a lowering or None",
            "fallback",
        )


def _check_name(key: str) -> None:
    """A name that torch does not have would never be asked for."""
    space, _, name = key.partition("::")
    packet, _, overload = name.partition(".")
    if not hasattr(torch.ops, space) or not packet:
        _refuse(f"`{key}` is no full name of an operator", "write it as `aten::add.Tensor`")
    if space.startswith("_") or space in ("math", "higher_order", "builtins"):
        return
    found = getattr(getattr(torch.ops, space), packet, None)
    if found is None:
        _refuse(f"torch has no operator `{key}`", "is it registered, and its module imported?")
    known = [o for o in getattr(found, "overloads", list)() if o != "default"]
    if overload and overload not in known:
        _refuse(f"`{space}::{packet}` has no overload `{overload}`", f"it has {', '.join(known)}")


def _refuse(reason: str, hint: str, name: str = "custom_translation_table") -> None:
    fail(messages.BadExportArgument(name=name, reason=reason, hint=hint, span=user_span()))


def _as_lowering(function: Any) -> Lowering:
    """A user's function in the form of the library's: `op` comes first."""
    if isinstance(function, AtenFunction):
        return function
    if is_onnxscript(function):
        return from_onnxscript(function)
    try:
        first = next(iter(inspect.signature(function).parameters), None)
    except (TypeError, ValueError):
        first = None
    if first == "op":
        chosen: Lowering = function
        return chosen
    return lambda op, *args, **kwargs: function(*args, **kwargs)


def decompose(target: Any, args: Any, kwargs: Any) -> torch.fx.GraphModule | None:
    """Torch's own decomposition of one operator, traced on fake tensors.

    Args:
        target: the operator.
        args, kwargs: fake tensors and plain values, as the node's.

    Returns:
        A graph module of simpler operators over the flat tensor inputs; None where torch has no
        decomposition.

    Source: torch._decomp, torch.ops.*.decompose.
    """
    from torch._decomp import core_aten_decompositions

    table = core_aten_decompositions()
    rule = table.get(target)
    if rule is None and target._can_decompose():
        rule = target.decompose
    if rule is None:
        rule = torch._decomp.global_decomposition_table["post_autograd"].get(target)
    if rule is None:
        return None
    made = traced(rule, args, kwargs)
    if made is None or any(n.target is target for n in made.graph.nodes):
        return None
    return made


def traced(rule: Callable[..., Any], args: Any, kwargs: Any) -> torch.fx.GraphModule | None:
    """What a function of tensors does, as a graph of simple operators.

    Args:
        rule: the function.
        args, kwargs: fake tensors and plain values.

    Returns:
        A graph module over the flat tensors and sizes; None where the function does not take
        these arguments.
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    flat, spec = torch.utils._pytree.tree_flatten((args, kwargs))
    places = [n for n, x in enumerate(flat) if isinstance(x, (torch.Tensor, torch.SymInt))]

    def run(*inputs: Any) -> Any:
        filled = list(flat)
        for n, x in zip(places, inputs, strict=True):
            filled[n] = x
        given, named = torch.utils._pytree.tree_unflatten(filled, spec)
        return rule(*given, **named)

    try:
        made: torch.fx.GraphModule = make_fx(run, pre_dispatch=False)(*[flat[n] for n in places])
    except NotImplementedError:
        return None
    return made
