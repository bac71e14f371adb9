"""`as_strided` of a tensor whose elements are not in the order of its axes.

A graph has no memory: what a strided view reads is found from the strides that torch keeps beside
the tensor.  Where they only permute the axes, the axes are permuted back; a view of memory that
is not all of the tensor is rejected.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from onnxwright.atenlib.load import functions
from onnxwright.atenlib.op import unsupported


def strided(t: Any, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`aten::as_strided` and its kin."""
    name = str(node.target._schema.name)
    function, permute = functions()[name], functions()["aten::permute"]
    given = dict(zip((a.name for a in node.target._schema.arguments), args, strict=False))
    given |= kwargs
    fake = node.args[0].meta["val"]
    order = _order(fake)
    offset = given.get("storage_offset")
    if offset is not None:
        given["storage_offset"] = _relative(offset, fake.storage_offset())
    _check_range(given, fake)
    if order == sorted(order):
        return function(t.op, **given)
    turned = permute(t.op, given["self"], order)
    found = function(t.op, **given | {"self": turned})
    if not name.endswith("_scatter"):
        return found
    return permute(t.op, found, [order.index(n) for n in range(len(order))])


def _order(fake: torch.Tensor) -> list[int]:
    """The axes in the order of memory.

    Raises:
        AtenUnsupportedError: the tensor has gaps, or elements that share their memory.
    """
    axes = list(range(fake.dim()))
    if fake.is_contiguous():
        return axes
    strides = fake.stride()
    if all(isinstance(s, int) for s in strides):
        order = sorted(axes, key=lambda n: (-strides[n], -fake.shape[n] if strides[n] else 0, n))
        if fake.permute(order).is_contiguous():
            return order
    elif all(isinstance(s, int) or s.node.has_hint() for s in (*strides, *fake.shape)):
        values = [s if isinstance(s, int) else s.node.hint for s in strides]
        order = sorted(axes, key=lambda n: (-values[n], n))
        if _contiguous(fake.permute(order)):
            return order
    return unsupported(
        f"a strided view of a tensor of the strides {tuple(strides)}, which is itself a view of "
        "other memory; call `.contiguous()` before, and give strides of that"
    )


def _contiguous(fake: torch.Tensor) -> bool:
    """Whether each stride is the product of the sizes after it, whatever the sizes are."""
    wanted: Any = 1
    for size, stride in zip(reversed(fake.shape), reversed(fake.stride()), strict=True):
        if not statically_known_true(stride == wanted):
            return False
        wanted = wanted * size
    return True


def _relative(offset: Any, start: Any) -> Any:
    """Where the view begins, counted from the first element of the tensor."""
    if isinstance(start, int) and start == 0:
        return offset
    if not isinstance(offset, int) or not isinstance(start, int) or offset < start:
        unsupported("a strided view that begins before the tensor it is of")
    return offset - start


def _check_range(given: dict[str, Any], fake: torch.Tensor) -> None:
    """Refuse a view of memory behind the tensor."""
    sizes, strides = given["size"], given["stride"]
    offset = given.get("storage_offset") or 0
    count = fake.numel()
    numbers = [*sizes, *strides, offset, count]
    if not all(isinstance(n, int) for n in numbers) or 0 in sizes:
        return
    last = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    if last >= count:
        unsupported(
            f"a strided view up to the element {last} of a tensor of {count} elements, which is "
            "itself a view of other memory"
        )
