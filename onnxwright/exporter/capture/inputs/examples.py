"""Example inputs beside what was captured of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from onnxwright.exporter import checks
from onnxwright.exporter.capture.assumptions.guard_text import named_sums
from onnxwright.exporter.capture.assumptions.guards import Sizes


def check_example(sizes: Sizes, axes: Sequence[Mapping[int, Any]], flat: Sequence[Any]) -> None:
    """Check that a program is right for its own example inputs.

    Where a dynamic size is 1 in the example, the program is captured with a larger one, and a
    decision may have taken the other side there.

    Args:
        sizes: what the program assumes about sizes.
        axes: for each flattened input, what was written for its dynamic axes.
        flat: the example inputs as they were given.

    Raises:
        ExportValueError: it is not (OW825).
    """
    if len(flat) != len(axes):
        return  # nothing was asked for
    reason = sizes.check(flat)
    if reason:
        checks.raise_bad_argument(
            "args",
            f"the program would refuse its own example: {reason}",
            "PyTorch takes a dynamic size for 2 or more: give example inputs with larger sizes, "
            "or leave the size fixed",
        )


def check_sums(axes: Sequence[Mapping[int, Any]], flat: Sequence[Any]) -> None:
    """Check that names of dimensions such as `past + seq` are the sums of what they name.

    Args:
        axes: for each flattened input, what was written for its dynamic axes.
        flat: the example inputs as they were given.

    Raises:
        ExportValueError: the size is not that sum in the example (OW825).
    """
    sizes: dict[str, int] = {}
    for value, named in zip(flat, axes, strict=False):
        for axis, dim in named.items() if isinstance(value, torch.Tensor) else ():
            if isinstance(dim, str):
                sizes.setdefault(dim, int(value.shape[axis]))
    for name, size in named_sums(sizes).items():
        if sizes[name] != size:
            checks.raise_bad_argument(
                "dynamic_shapes",
                f"`{name}` is {sizes[name]} in the example, and the sum is {size}",
                "a name such as `past + seq` is the sum of the sizes with these names; write "
                "another name for a size of its own",
            )
