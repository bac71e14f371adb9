"""Sizes as nodes of a trace: sums and products of more than two sizes, which PyTorch fails on."""

from __future__ import annotations

import functools
from typing import Any

import sympy  # type: ignore[import-untyped]
from torch.fx.experimental import proxy_tensor

from onnxwright.exporter.capture.replacements.changes import Changes

_NAMES = ("_build_proxy_for_sym_expr", "_sympy_handlers", "_sym_register")


def sizes_in_pairs(changes: Changes, model: Any) -> None:
    """Torch computes a sum or product of several sizes two by two."""
    if not all(hasattr(proxy_tensor, name) for name in _NAMES):
        return  # a release of torch that does not compute sizes again
    module: Any = proxy_tensor
    build, handlers, register = (getattr(module, name) for name in _NAMES)

    def in_pairs(tracer: Any, expr: Any, out: Any = None) -> Any:
        several = isinstance(expr, (sympy.Add, sympy.Mul)) and len(expr.args) > 2
        if not several or tracer.sympy_expr_tracker.get(expr) is not None:
            return build(tracer, expr, out)
        args = [in_pairs(tracer, arg) for arg in expr.args]
        function = handlers().get(expr.func)
        if function is None or any(arg is None for arg in args):
            return None
        first = functools.reduce(function, args[:-1])
        if out is None:
            return function(first, args[-1])
        register(tracer, function, (first, args[-1]), out)
        return out

    changes.attribute(module, _NAMES[0], in_pairs)
