"""Functions that decide by values in Python, as equivalents that do not.

`Substitutes` calls them in the place of torch's functions, also where torch itself calls these.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true

from onnxwright.exporter.capture.control.replacement_table import Substitute, in_force
from onnxwright.exporter.capture.session.call_handlers import CallHandler
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.errors import OtherMemoryError
from onnxwright.exporter.capture.session.number_forms import as_tensor


def dropout(
    input: Any,  # noqa: A002 - torch's name
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
) -> Any:
    """The tensor itself where nothing is trained: what is written to the result changes it."""
    if not training:
        return input
    return torch.dropout_(input, p, True) if inplace else torch.dropout(input, p, True)


def dropout_operator(input: Any, p: float, train: bool) -> Any:  # noqa: A002 - torch's name
    """The same of `torch.dropout`."""
    return dropout(input, p, train)


def data_set(tensor: Any, value: Any) -> None:
    """`x.data = y`, where `y` is `x` itself after an operator in place, as in `x.data += 1`.

    Raises:
        OtherMemoryError: it is another tensor.
    """
    one, two = (
        (t.untyped_storage()._cdata, str((t.dtype, t.shape, t.stride(), t.storage_offset())))
        for t in (tensor, value)
    )
    if one != two:
        raise OtherMemoryError


def deep_copy(tensor: Any, memo: dict[int, Any]) -> Any:
    """`copy.deepcopy` of a tensor, as an operator."""
    if id(tensor) not in memo:
        memo[id(tensor)] = tensor.clone()
    return memo[id(tensor)]


def equal(input: Any, other: Any) -> Any:  # noqa: A002 - as above
    """Without a bool of Python: what both have in common is compared, and the sizes."""
    if input.ndim != other.ndim:
        return False
    same = []
    for axis, (mine, theirs) in enumerate(zip(input.shape, other.shape)):
        if _is_same_size(mine, theirs):
            continue
        if isinstance(mine, int) and isinstance(theirs, int):
            return False
        least = torch.sym_min(mine, theirs)
        input, other = input.narrow(axis, 0, least), other.narrow(axis, 0, least)  # noqa: A001
        same.append(as_tensor(mine) == as_tensor(theirs))
    return functools.reduce(torch.logical_and, same, torch.eq(input, other).all()).item()


def _is_same_size(one: Any, two: Any) -> bool:
    """Whether two sizes are equal in any model; torch knows them equal for sizes of 2 and more."""
    if isinstance(one, torch.SymInt) and isinstance(two, torch.SymInt):
        return bool(one.node.expr == two.node.expr)
    return isinstance(one, int) and isinstance(two, int) and one == two


def is_nonzero(input: Any) -> Any:  # noqa: A002 - as above
    """Of a tensor of one element."""
    return input.ne(0).item()


def allclose(input: Any, other: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - as above
    """Without a bool of Python."""
    return torch.isclose(input, other, *args, **kwargs).all().item()


def gaussian_nll_loss(
    input: Any,  # noqa: A002 - as above
    target: Any,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    """Without a look at the signs of `var`."""
    if not isinstance(var, torch.Tensor):
        var = var * torch.ones_like(input)
    if var.shape != input.shape and var.shape == input.shape[:-1]:
        var = var.unsqueeze(-1)
    var = var.clamp(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return {"mean": torch.mean, "sum": torch.sum, "none": torch.clone}[reduction](loss)


def get_item(self: Any, index: Any) -> Any:
    """`x[..., i]`, where `i` may be a tensor without axes."""
    element = _apart(self, index)
    return self[index] if element is None else torch.ops.aten.index(*element)


def set_item(self: Any, index: Any, value: Any) -> None:
    """`x[..., i] = value`, where `i` may be a tensor without axes."""
    element = _apart(self, index)
    if element is None:
        if not _has_symbolic_place(index):
            self[index] = value
        elif isinstance(value, torch.Tensor):
            _view(self, index).copy_(value)
        else:
            _view(self, index).fill_(value)
        return
    if not isinstance(value, torch.Tensor):
        value = torch.full((), value, dtype=self.dtype)
    torch.ops.aten.index_put_(*element, value.to(self.dtype))


def _apart(self: Any, index: Any) -> tuple[Any, list[Any]] | None:
    """The view of `x` by what is known of an index, and an index of that for each axis.

    Python takes an integer out of a tensor without axes.  None if there is no such tensor, or
    others that are indices too.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    tensors = [p for p in parts if isinstance(p, (torch.Tensor, list))]
    if not tensors or not all(_is_place(p) for p in tensors):
        return None
    if not any(p is Ellipsis for p in parts):
        parts.append(Ellipsis)
    used = sum(p is not None and p is not Ellipsis for p in parts)
    places: list[Any] = []
    for part in parts:
        if part is Ellipsis:
            places += [None] * (self.ndim - used)
        elif not isinstance(part, (int, torch.SymInt)):
            places.append(part if _is_place(part) else None)
    plain = tuple(slice(None) if _is_place(p) else p for p in parts)
    return self[plain], places


def _has_symbolic_place(index: Any) -> bool:
    """Whether an index is a tuple of integers and slices with a symbolic integer."""
    if not isinstance(index, tuple) or not any(isinstance(p, torch.SymInt) for p in index):
        return False
    basic = (int, slice, torch.SymInt, type(None), type(Ellipsis))
    return all(isinstance(p, basic) and not isinstance(p, bool) for p in index)


def _view(self: Any, index: tuple[Any, ...]) -> Any:
    """`x[index]` of integers and slices: torch takes no symbolic integer among them in a write."""
    used = sum(p is not None and p is not Ellipsis for p in index)
    dim = 0
    for part in index:
        if part is Ellipsis:
            dim += self.ndim - dim - used
            continue
        if part is None:
            self = self.unsqueeze(dim)
        elif isinstance(part, slice):
            self = self[(slice(None),) * dim + (part,)]
        else:
            self = self.select(dim, part)
        used -= part is not None
        dim += part is None or isinstance(part, slice)
    return self


def _is_place(part: Any) -> bool:
    """Whether a part of an index is an integer as a tensor."""
    kinds = (torch.int64, torch.int32, torch.int16, torch.int8)
    return isinstance(part, torch.Tensor) and part.ndim == 0 and part.dtype in kinds


class Substitutes(CallHandler):
    """Substitutes are called in the place of torch's functions.

    Args:
        table: the entries.
    """

    def __init__(self, table: tuple[Substitute, ...]) -> None:
        self._by_function = in_force(table)
        self.functions = self._by_function.keys()

    def on_call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call the replacement of a function."""
        return self._by_function.get(func, func)(*args, **kwargs)


# -- module casts ----------------------------------------------------------------------------------
# Casts of modules, checks of distributions and a flag of attention, as torch can trace them.


def distribution_checks_disabled(changes: Changes, model: Any) -> None:
    """Distributions do not look at the values of their parameters and samples.

    Such a look is a decision by values in Python; a model computes and does not check.
    """
    changes.attribute(torch.distributions.Distribution, "_validate_args", False)


def kept_where_there(own: Any) -> Any:
    """`module.to(...)` that changes nothing does nothing."""

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        device, dtype, _, layout = torch._C._nn._parse_to(*args, **kwargs)
        if layout is None and _is_there(self, device, dtype):
            return self
        return own(self, *args, **kwargs)

    return to


def kept_where_of_type(own: Any) -> Any:
    """`module.float()` and the like that change nothing do nothing."""
    dtype = FLOATS[own.__name__]

    def convert(self: Any) -> Any:
        return self if _is_there(self, None, dtype) else own(self)

    return convert


def with_causal_flag(own: Any) -> Any:
    """`scaled_dot_product_attention` for `is_causal` that depends on sizes.

    `n > 1 and mask is None` is a symbolic truth value where `n > 1` does not hold.
    """

    @functools.wraps(own)
    def _followed_attention(*args: Any, **kwargs: Any) -> Any:  # the caller decides by sizes
        for name, value in kwargs.items():
            if isinstance(value, torch.SymBool):
                kwargs[name] = _is_of_several_rows(value, *args[:2]) or bool(value)
        return own(*args, **kwargs)

    return _followed_attention


def _is_of_several_rows(causal: Any, *tensors: Any) -> bool:
    """Whether a flag says that there is more than one row, of queries and of keys.

    One row attends to itself with a causal mask, too: the flag may be set for it.
    """
    if len(tensors) < 2:
        return False
    rows, keys = (x.shape[-2] for x in tensors)
    if not isinstance(rows, torch.SymInt) or not isinstance(keys, torch.SymInt):
        return False
    if rows.node.expr != keys.node.expr:
        return False
    return causal.node.expr in ((rows > 1).node.expr, (rows != 1).node.expr)


FLOATS = {
    "float": torch.float32,
    "double": torch.float64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
}


def _is_there(module: Any, device: Any, dtype: Any) -> bool:
    """Whether all tensors of a module are on a device, and those of floats of a type."""
    tensors = [*module.parameters(), *module.buffers()]
    floats = [x for x in tensors if x.is_floating_point() or x.is_complex()]
    here = device is None or all(x.device == device for x in tensors)
    return here and (dtype is None or all(x.dtype == dtype for x in floats))


def mean_of_any_number(own: Callable[..., Any]) -> Callable[..., Any]:
    """`x.mean(dim)` where it is known at run time only whether there are elements: NaN of none.

    Args:
        own: the function, or the method of tensors.
    """

    def mean(*args: Any, **kwargs: Any) -> Any:
        mean_value = own(*args, **kwargs)
        x = args[0] if args else kwargs["input"]
        dims = kwargs.get("dim", args[1] if len(args) > 1 else None)
        dims = dims if isinstance(dims, (list, tuple)) else [] if dims is None else [dims]
        sizes = [x.shape[dim] for dim in dims or range(x.ndim)]
        open_sizes = (n for n in sizes if isinstance(n, torch.SymInt) and free_unbacked_symbols(n))
        count = math.prod(open_sizes)
        if isinstance(count, int) or statically_known_true(count > 0):
            return mean_value
        return mean_value / torch.sym_min(count, 1)

    return mean
