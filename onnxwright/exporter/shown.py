"""Values that a user gave, as words of a message: short, on one line, tensors without numbers."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
import torch

_LONGEST = 120


class _Short(reprlib.Repr):
    def repr1(self, x: Any, level: int) -> str:
        if isinstance(x, (torch.Tensor, np.ndarray)):
            kind = "tensor" if isinstance(x, torch.Tensor) else "array"
            return f"<{kind} {str(x.dtype).removeprefix('torch.')}{list(x.shape)}>"
        return " ".join(super().repr1(x, level).split())


_SHORT = _Short()
_SHORT.maxother = _SHORT.maxstring = _SHORT.maxlong = _LONGEST
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxtuple = 12


def shown(value: Any) -> str:
    """A value as a word of a message: its `repr`, cut where it is long; a tensor by type and shape.

    Example:
        >>> shown([torch.ones(2, 3), "batch"])
        "[<tensor float32[2, 3]>, 'batch']"
    """
    return _SHORT.repr(value)


def some(words: list[str]) -> str:
    """Words of a list; of a long one, the first and how many more.

    Example:
        >>> some([str(n) for n in range(20)])
        '0, 1, 2, 3, 4, 5, ... 14 more'
    """
    return ", ".join(words if len(words) <= 8 else [*words[:6], f"... {len(words) - 6} more"])
