"""Replacements in torch: fake kernels, substitutes, checks that are turned off.

`fakes` registers shape functions for operators that torch decomposes or cannot trace.
`Substitutes` replaces functions that branch on tensor values in Python by equivalents that do not.
`distribution_checks_disabled` turns off the value checks of distributions.  The others are called
in the place of functions of torch.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.torch_internals import DispatchKey, fake_impls

aten = torch.ops.aten


def _covariances(x: Any, aweights: Any = None, **_: Any) -> Any:
    """One number for each pair of rows."""
    kind = x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else torch.get_default_dtype()
    if aweights is not None:
        kind = torch.promote_types(kind, aweights.dtype)
    return x.new_empty([x.shape[0]] * 2 if x.ndim == 2 else [], dtype=kind)


def _coefficients(x: Any) -> Any:
    return _covariances(x)


def _narrow(x: Any, dim: int, start: Any, length: Any) -> Any:
    """A part whose length is known and whose start is not."""
    return x.new_empty([length if d == dim % x.ndim else n for d, n in enumerate(x.shape)])


def _ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any,
    blank: int = 0, reduction: int = 1, zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """A loss for each sequence, or one."""
    one = reduction != 0 or log_probs.ndim == 2
    return log_probs.new_empty([] if one else [log_probs.shape[1]])


def _one_hot(x: Any, num_classes: int = -1) -> Any:
    """As many classes as the largest value says, where no number is given."""
    if num_classes == -1:
        count = x.fake_mode.shape_env.create_unbacked_symint()
        torch._check(count >= 1)
        num_classes = count
    return x.new_empty([*x.shape, num_classes])


def _least_squares(mode: Any, func: Any, a: Any, b: Any, rcond: Any = None, **options: Any) -> Any:
    """Solutions, and the residuals, ranks and singular values that a driver gives."""
    driver = options.get("driver") or "gelsy"
    vectors = b.ndim == a.ndim - 1
    columns = [] if vectors else [b.shape[-1]]
    rows, unknowns = a.shape[-2:]
    front = torch.broadcast_shapes(a.shape[:-2], b.shape[: b.ndim - 1 - len(columns)])
    has_residuals = driver != "gelsy" and rows > unknowns
    singular = a.abs() if a.is_complex() else a
    return (
        b.new_empty([*front, unknowns, *columns]),
        singular.new_empty([*front, *columns] if has_residuals else [0]),
        a.new_empty([0] if driver == "gels" else a.shape[:-2], dtype=torch.int64),
        singular.new_empty(
            [*a.shape[:-2], min(rows, unknowns)] if driver in ("gelsd", "gelss") else [0]
        ),
    )


def _tangent(mode: Any, func: Any, x: Any, other: Any, *, self_num_batch_dims: int = 0) -> Any:
    """Zeros for the tangent of what is written into; torch's own reads the place in memory."""
    return x.new_zeros([*x.shape[:self_num_batch_dims], *other.shape])


def _recurrent(
    x: Any, state: Any, params: Any, has_biases: bool, layers: int, dropout: float, train: bool,
    both_ways: bool, batch_first: bool,
) -> Any:  # fmt: skip
    """The last layer at each time, and the last states; torch itself goes through all times."""
    states = [state] if isinstance(state, torch.Tensor) else list(state)
    width = states[0].shape[-1] * (2 if both_ways else 1)
    return (
        x.new_empty([x.shape[0], x.shape[1], width]),
        *(x.new_empty(s.shape, dtype=s.dtype) for s in states),
    )


def _inverse_of_spectrogram(
    x: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, normalized: bool = False,
    onesided: bool | None = None, length: Any = None, return_complex: bool = False,
) -> Any:  # fmt: skip
    """As many samples as asked for, or as the frames have; torch adds up one frame at a time."""
    hop = n_fft // 4 if hop_length is None else hop_length
    if length is None:
        length = n_fft + hop * (x.shape[-1] - 1) - (n_fft // 2 * 2 if center else 0)
    return x.new_empty(
        [*x.shape[:-2], length], dtype=x.dtype if return_complex else x.dtype.to_real()
    )


def _like_first(x: Any, *_: Any) -> Any:
    """A result of the same type and shape."""
    return torch.empty_like(x)


def _distances(x: Any, y: Any, p: float = 2.0, compute_mode: int | None = None) -> Any:
    """Distances of all rows; torch itself has another formula for more than 25."""
    front = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return x.new_empty([*front, x.shape[-2], y.shape[-2]])


FAKES: dict[Any, Callable[..., Any]] = {
    aten.cdist.default: _distances,
    aten.cov.default: _covariances,
    aten.corrcoef.default: _coefficients,
    aten.narrow.Tensor: _narrow,
    aten.ctc_loss.IntList: _ctc_loss,
    aten.ctc_loss.Tensor: _ctc_loss,
    aten.one_hot.default: _one_hot,
    aten.fake_quantize_per_channel_affine.default: _like_first,
    aten.fake_quantize_per_tensor_affine.default: _like_first,
    aten.fake_quantize_per_tensor_affine.tensor_qparams: _like_first,
    aten.istft.default: _inverse_of_spectrogram,
    aten.gru.input: _recurrent,
    aten.lstm.input: _recurrent,
    aten.rnn_relu.input: _recurrent,
    aten.rnn_tanh.input: _recurrent,
}
"""Operators that torch runs by others -> what gives a result of the same type and shape."""

# What torch runs them by itself; None where it does so in C++.
_OWN = {op: op.py_kernels.get(DispatchKey.CompositeImplicitAutograd) for op in FAKES}

RULES: dict[Any, Callable[..., Any]] = {
    aten.linalg_lstsq.default: _least_squares,
    aten._new_zeros_with_same_feature_meta.default: _tangent,
}
"""Operators with kernels of their own -> the same, given torch's mode and the operator first."""


def fakes(changes: Changes, model: Any) -> None:
    """Torch takes the operators of `FAKES` and `RULES` as they are."""
    rules = fake_impls.op_implementations_dict
    changes.items(rules, {op: rule for op, rule in RULES.items() if op not in rules})
    changes.kernels(DispatchKey.CompositeImplicitAutograd, FAKES)


@contextmanager
def without_fakes() -> Iterator[None]:
    """In this context, torch runs the operators of `FAKES` by others again.

    Below autograd the operators themselves are not recorded, only those that run them.
    """
    changes = Changes()
    changes.kernels(DispatchKey.CompositeImplicitAutograd, _OWN)
    try:
        yield
    finally:
        changes.undo()


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
    dtype = _FLOATS[own.__name__]

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
            kwargs[name] = bool(value) if isinstance(value, torch.SymBool) else value
        return own(*args, **kwargs)

    return _followed_attention


_FLOATS = {
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


def _equal(input: Any, other: Any) -> Any:  # noqa: A002 - torch's name
    if input.shape != other.shape:
        return False
    return torch.eq(input, other).all().item()


def _is_nonzero(input: Any) -> Any:  # noqa: A002 - as above
    return input.ne(0).item()


def _allclose(input: Any, other: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - as above
    return torch.isclose(input, other, *args, **kwargs).all().item()


def _gaussian_nll_loss(
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


def _get(self: Any, index: Any) -> Any:
    """`x[..., i]`, where `i` may be a tensor without axes."""
    element = _apart(self, index)
    return self[index] if element is None else torch.ops.aten.index(*element)


def _set(self: Any, index: Any, value: Any) -> None:
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


SUBSTITUTES: dict[Any, Callable[..., Any]] = {
    torch.equal: _equal,
    torch.Tensor.equal: _equal,
    torch.is_nonzero: _is_nonzero,
    torch.Tensor.is_nonzero: _is_nonzero,
    torch.allclose: _allclose,
    torch.Tensor.allclose: _allclose,
    functional.gaussian_nll_loss: _gaussian_nll_loss,
    torch.Tensor.__getitem__: _get,
    torch.Tensor.__setitem__: _set,
}
"""Functions that decide in Python -> what computes the same without a decision."""


class Substitutes(TorchFunctionMode):  # type: ignore[misc]
    """In this context, `SUBSTITUTES` are called in the place of torch's functions."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function, or its replacement."""
        return SUBSTITUTES.get(func, func)(*args, **(kwargs or {}))
