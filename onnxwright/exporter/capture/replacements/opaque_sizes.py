"""Sizes that are long expressions of the inputs' sizes, as numbers of run time of their own.

Detection models resize an image by the quotient of its sizes and pad it to a multiple of 32.  All
sizes of their networks are expressions around that one, and PyTorch spends minutes with each
comparison of two of them.  Here a tensor of such a size has one that is only known at run time.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.control.held_state import run_unchanged
from onnxwright.exporter.capture.session.call_handlers import Below, CallHandler
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.torch_internals import size_functions as functions

_POOLERS = "torchvision.ops.poolers"
_OF_FLOATS = (
    functions.FloatTrueDiv, functions.IntTrueDiv, functions.ToFloat, functions.TruncToInt,
    functions.CeilToInt, functions.FloorToInt,
)  # fmt: skip
# Expressions with fewer operations are left as they are.
_LONG = 9


@torch.library.custom_op(  # type: ignore[untyped-decorator] # torch's own
    "onnxwright::with_new_sizes", mutates_args=()
)
def with_new_sizes(x: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    """A tensor whose sizes along some axes are only known at run time."""
    return x.clone()


@with_new_sizes.register_fake  # type: ignore[untyped-decorator] # torch's own
def _(x: Any, axes: Any) -> Any:
    context = torch.library.get_ctx()
    return x.new_empty([context.new_dynamic_size(min=1) if n in axes else size
                        for n, size in enumerate(x.shape)])  # fmt: skip


@torch.library.custom_op(  # type: ignore[untyped-decorator] # torch's own
    "onnxwright::with_sizes", mutates_args=()
)
def with_sizes(x: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    """A tensor whose sizes are those, by other names."""
    return x.clone()


@with_sizes.register_fake  # type: ignore[untyped-decorator] # torch's own
def _(x: Any, sizes: Any) -> Any:
    return x.new_empty(sizes)


class OpaqueSizes(CallHandler):
    """Tensors have sizes of their own in the place of long expressions.

    Fields:
        names: the expressions -> the sizes.
    """

    is_after = True

    def __init__(self) -> None:
        self.names: dict[Any, Any] = {}

    def after(self, args: Any, result: Any, below: Below) -> Any:
        """The result, with sizes of its own where they are long."""
        if not isinstance(result, torch.Tensor):
            return result
        long = [n for n, size in enumerate(result.shape) if _is_long(size)]
        if not long or _is_view(result, args):
            return result
        return below(self._renamed, result, long)

    def _renamed(self, x: Any, long: list[int]) -> Any:
        """A tensor with other sizes along some axes; equal expressions are one size."""
        axes = {x.shape[n].node.expr: n for n in reversed(long)}
        axes = {expr: n for expr, n in axes.items() if expr not in self.names}
        if axes:
            renamed = with_new_sizes(x, list(axes.values()))
            self.names |= {expr: renamed.shape[n] for expr, n in axes.items()}
        sizes = list(x.shape)
        for n in long:
            sizes[n] = self.names[sizes[n].node.expr]
        return with_sizes(x, sizes)


_KNOWN: dict[Any, bool] = {}


def _is_long(size: Any) -> bool:
    """Whether a size is a long expression with quotients."""
    if not isinstance(size, torch.SymInt):
        return False
    expr = size.node.expr
    if expr not in _KNOWN:
        _KNOWN[expr] = expr.has(*_OF_FLOATS) and expr.count_ops() >= _LONG
    return _KNOWN[expr]


def _is_view(x: Any, args: Any) -> bool:
    """Whether a tensor is an argument, or shares its memory with one."""
    home = x.untyped_storage()._cdata
    return any(isinstance(a, torch.Tensor) and a.untyped_storage()._cdata == home for a in args)


def scales_of_poolers(
    model: Any, args: Sequence[Any], kwargs: Mapping[str, Any], dims: Any
) -> dict[Any, Any]:
    """The scales of torchvision's poolers of regions, by a run of the model.

    They keep what the sizes of the first images give, also for images of other sizes.

    Returns:
        Pooler -> its scales, and what finds the level of a region.
    """
    module = sys.modules.get(_POOLERS)
    scales: dict[Any, Any] = {}
    if module is None or dims is None or not isinstance(model, torch.nn.Module):
        return scales
    waiting = [m for m in model.modules() if isinstance(m, module.MultiScaleRoIAlign)]
    hooks = [m.register_forward_hook(_keep_scales(scales)) for m in waiting if m.scales is None]
    if hooks:
        try:
            run_unchanged(model, args, kwargs)
        finally:
            for hook in hooks:
                hook.remove()
    return scales


def scale_poolers(scales: Mapping[Any, Any], changes: Changes, _: Any) -> None:
    """Give poolers scales from before.

    Args:
        scales: those of `scales_of_poolers`.
        changes: undo it.
    """
    for pooler, (own, levels) in scales.items():
        changes.attribute(pooler, "scales", own)
        changes.attribute(pooler, "map_levels", levels)


def _keep_scales(scales: dict[Any, Any]) -> Callable[..., None]:
    def keep(pooler: Any, args: Any, result: Any) -> None:
        # What the run wrote to the finder of levels is taken back at its end: the copy has it.
        scales[pooler] = (pooler.scales, copy.copy(pooler.map_levels))

    return keep
