"""`min` and `max` of numbers that follow from dynamic sizes, as operators instead of decisions.

torch.export does so for two integers. It compares floats and more than two numbers, and keeps what
is the least for the example.  Where it makes a size that holds a maximum again, it writes a call of
a function of its own, which its check of the program then does not allow.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch._export import non_strict_utils
from torch.fx.experimental import proxy_tensor

from onnxwright.exporter.capture.number_forms import SIZES
from onnxwright.exporter.capture.replacements.changes import Changes

_EXTREME, _REGISTER = "_tensor_min_max", "_sym_register"


def is_of_sizes(items: Sequence[Any]) -> bool:
    """Whether all items are numbers, and one at least follows from a dynamic size.

    Example:
        >>> is_of_sizes([1, 2.5])
        False
    """
    numbers = all(isinstance(x, (bool, int, float, *SIZES)) for x in items)
    return numbers and any(isinstance(x, SIZES) for x in items)


def extremes_symbolic(changes: Changes, model: Any) -> None:
    """`min` and `max` in a non-strict capture decide nothing by sizes."""
    before = getattr(non_strict_utils, _EXTREME, None)
    if before is None:
        return

    # It has the name of torch's, by which the user's line is found.
    def _tensor_min_max(*args: Any, real_callable: Any, tensor_callable: Any, **kwargs: Any) -> Any:
        items = args
        if len(args) == 1 and isinstance(args[0], (tuple, list)):
            items = tuple(args[0])
        if kwargs or len(items) < 2 or not is_of_sizes(items):
            return before(
                *args, real_callable=real_callable, tensor_callable=tensor_callable, **kwargs
            )
        two = torch.sym_max if tensor_callable is torch.maximum else torch.sym_min
        return functools.reduce(two, items)

    changes.attribute(non_strict_utils, _EXTREME, _tensor_min_max)


def extremes_of_two(changes: Changes, model: Any) -> None:
    """A size that holds a maximum or a minimum is made again of those of two."""
    before = getattr(proxy_tensor, _REGISTER, None)
    several = {
        getattr(proxy_tensor, "_nary_sym_max", None): torch.sym_max,
        getattr(proxy_tensor, "_nary_sym_min", None): torch.sym_min,
    }
    if before is None or None in several:
        return

    def register(tracer: Any, function: Any, args: Any, out: Any) -> Any:
        if function in several:
            function = several[function]
            args = (functools.reduce(function, args[:-1]), args[-1])
        return before(tracer, function, args, out)

    changes.attribute(proxy_tensor, _REGISTER, register)
