"""Which function translates a target: the user's, the library's, or torch's decomposition of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from onnxwright.atenlib.load import functions
from onnxwright.exporter import checks
from onnxwright.exporter.places import target_name
from onnxwright.exporter.shown import shown
from onnxwright.exporter.torch_internals import HigherOrderOperator, OpOverload, pytree
from onnxwright.exporter.translate.custom_functions import lowering_of

Lowering = Callable[..., Any]
_TABLE = "custom_translation_table"

TABLE = "`custom_translation_table`"
FALLBACK = "`fallback`"
LIBRARY = "the library"
EXPORTER = "the exporter"
DECOMPOSED = "PyTorch's decomposition"
OWN = (TABLE, FALLBACK)
"""Functions that the user gives, not this package."""


class Found(NamedTuple):
    """A function for an operator, and where it is from: one of the names above."""

    function: Lowering
    way: str


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
        for key, entry in (custom or {}).items():
            several = isinstance(entry, (list, tuple)) and bool(entry)
            overloads = list(entry) if several else [entry]
            for function in overloads:
                if not callable(function):
                    checks.raise_bad_argument(
                        _TABLE,
                        f"the value of {key} is not a function, but {shown(function)}",
                        "give functions, or lists of functions",
                    )
            for name in _names(key):
                self.custom[name] = lowering_of(overloads, name)
        self.fallback = fallback
        self._table = functions()

    def find(self, name: str) -> Found | None:
        """The function for a full name; None where there is none."""
        if name in self.custom:
            return Found(self.custom[name], TABLE)
        if name in self._table:
            return Found(self._table[name], LIBRARY)
        lowering = self.fallback(name) if self.fallback is not None else None
        return Found(lowering_of([lowering], name), FALLBACK) if lowering is not None else None

    @property
    def ways(self) -> list[str]:
        """Where a function is looked for, in this order."""
        return [
            *([TABLE] if self.custom else []),
            LIBRARY,
            *([FALLBACK] if self.fallback is not None else []),
        ]

    def nearest(self, name: str) -> str:
        """The name in the table that is most like another, for messages."""
        import difflib

        near = difflib.get_close_matches(name, self._table, 1, cutoff=0.7)
        return near[0] if near else ""


def _names(key: Any) -> list[str]:
    """The full names a key of a custom table represents."""
    if isinstance(key, str):
        key = _full_name(key)
        _check_name(key)
        return [key]
    # The result of `torch.library.custom_op` represents the operator it registered.
    key = getattr(key, "_opoverload", key)
    if isinstance(key, torch._ops.OpOverloadPacket):
        return [target_name(getattr(key, overload)) for overload in key.overloads()]
    if isinstance(key, (OpOverload, HigherOrderOperator)):
        return [target_name(key)]
    if _is_on_sizes(key):
        return [target_name(key)]
    checks.raise_bad_argument(
        _TABLE,
        f"{_shown(key)} is not an operator",
        "write its full name (`'aten::add.Tensor'`) or the operator (`torch.ops.aten.add.Tensor`)",
    )


def _full_name(key: str) -> str:
    """`aten::gelu` for `aten::gelu.default` and `aten.gelu.default`, as torch prints operators."""
    if "::" not in key and key.count(".") >= 1:
        space, _, rest = key.partition(".")
        if space in ("torch", "ops"):
            space, _, rest = rest.removeprefix("ops.").partition(".")
        key = f"{space}::{rest}"
    return key.removesuffix(".default")


def _is_on_sizes(key: Any) -> bool:
    """Whether something is a Python function on sizes that occurs in captured programs."""
    module, name = getattr(key, "__module__", None), getattr(key, "__name__", "")
    if module == "torch":
        return "sym_" in name[:5]
    return callable(key) and module in ("_operator", "math", "builtins")


def _shown(key: Any) -> str:
    name = getattr(key, "__qualname__", None)
    return f"the function `{name}`" if callable(key) and name else shown(key)


def _check_kinds(custom: Any, fallback: Any) -> None:
    if not isinstance(custom, (Mapping, type(None))):
        checks.raise_bad_argument(
            _TABLE,
            f"an object of type {type(custom).__name__}",
            "give a dict: operator -> function",
        )
    if fallback is not None and not callable(fallback):
        checks.raise_bad_argument(
            "fallback",
            f"{shown(fallback)} is not a function",
            "give a function from the full name of an operator to a lowering or None",
        )


def _check_name(key: str) -> None:
    """A name that torch does not have would never be asked for."""
    space, _, name = key.partition("::")
    packet, _, overload = name.partition(".")
    if not hasattr(torch.ops, space) or not packet:
        checks.raise_bad_argument(
            _TABLE,
            f"`{key}` is not a full name of an operator",
            "write it as `aten::add.Tensor`",
        )
    if space.startswith("_") or space in ("math", "higher_order", "builtins"):
        return
    overload_packet = getattr(getattr(torch.ops, space), packet, None)
    if overload_packet is None:
        checks.raise_bad_argument(
            _TABLE,
            f"torch has no operator `{key}`",
            "is it registered, and its module imported?",
        )
    overloads = [o for o in getattr(overload_packet, "overloads", list)() if o != "default"]
    if overload and overload not in overloads:
        checks.raise_bad_argument(
            _TABLE,
            f"`{space}::{packet}` has no overload `{overload}`",
            f"it has {', '.join(overloads)}",
        )


def decompose(target: Any, args: Any, kwargs: Any) -> torch.fx.GraphModule | None:
    """Torch's own decomposition of one operator, traced on fake tensors; None where it has none.

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
    graph_module = traced(rule, args, kwargs)
    if graph_module is None or any(n.target is target for n in graph_module.graph.nodes):
        return None
    return graph_module


def traced(rule: Callable[..., Any], args: Any, kwargs: Any) -> torch.fx.GraphModule | None:
    """What a function of tensors does, as a graph of simple operators.

    Returns:
        A graph module over the flat tensors and sizes; None where the function does not take
        these arguments.
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    flat, spec = pytree.tree_flatten((args, kwargs))
    places = [n for n, x in enumerate(flat) if isinstance(x, (torch.Tensor, torch.SymInt))]

    def run(*inputs: Any) -> Any:
        filled = list(flat)
        for n, x in zip(places, inputs, strict=True):
            filled[n] = x
        positional, named = pytree.tree_unflatten(filled, spec)
        return rule(*positional, **named)

    try:
        graph_module: torch.fx.GraphModule = make_fx(run, pre_dispatch=False)(
            *[flat[n] for n in places]
        )
    except NotImplementedError:
        return None
    return graph_module
