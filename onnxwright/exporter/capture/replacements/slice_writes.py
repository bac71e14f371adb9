"""Writes in place to slices whose bounds are known at run time only.

Autograd makes the slice of a write again, and PyTorch gives this one new sizes, of which the
program knows nothing.  Nobody needs the gradient of such a write, unless the model itself computes
gradients: the write is made without, and gradients after it are refused.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.session.call_handlers import CallHandler
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.model_lines import model_line
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.places import line_of

_T = torch.Tensor
# What is called for `x += y` and the like, and methods whose names end in `_` and that give values.
_OPERATORS = (
    "add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift",
    "rshift",
)  # fmt: skip
_METHODS = {name for name in dir(_T) if name.endswith("_") and not name.endswith("__")}
_IN_PLACE = frozenset(
    getattr(_T, name)
    for name in (*_METHODS - {"requires_grad_", "detach_"}, *(f"__i{n}__" for n in _OPERATORS))
)


class SliceWrites(CallHandler):
    """Writes to slices of run-time bounds are made without gradients."""

    functions = (_T.__setitem__, *_IN_PLACE)

    def on_call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function that writes to a tensor."""
        session = current()
        if session is None or not torch.is_grad_enabled() or not _is_at_run_time(func, args):
            return func(*args, **kwargs)
        if any(isinstance(a, _T) and a.requires_grad for a in args):
            session.written_slice = model_line()
        with torch.no_grad():
            return func(*args, **kwargs)


def _is_at_run_time(func: Any, args: Any) -> bool:
    """Whether what is written to is a slice of a size that is known at run time only."""
    if func is not _T.__setitem__:
        return args[0]._base is not None and any(map(_is_unknown, args[0].shape))
    index = args[1] if isinstance(args[1], tuple) else (args[1],)
    return any(
        isinstance(p, slice) and (_is_unknown(p.start) or _is_unknown(p.stop)) for p in index
    )


def _is_unknown(size: Any) -> bool:
    return isinstance(size, torch.SymInt) and bool(free_unbacked_symbols(size))


def refuse_gradients(changes: Changes, _: Any) -> None:
    """Refuse gradients that are computed after such a write.

    Args:
        changes: undo it.
    """
    own = torch.autograd._engine_run_backward

    def run(*args: Any, **kwargs: Any) -> Any:
        session = current()
        if session is not None and session.written_slice is not None:
            error = CannotRewriteError(
                "a gradient of a tensor after a write to a slice of it with bounds of run time",
                advice="write the values with `torch.where` and a mask of places",
            )
            error.span = line_of(*session.written_slice)
            raise error
        return own(*args, **kwargs)

    changes.attribute(torch.autograd, "_engine_run_backward", run)
