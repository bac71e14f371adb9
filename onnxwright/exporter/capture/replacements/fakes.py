"""Operators that a capture takes as they are: what gives a result of the same type and shape.

PyTorch runs them by others (through time steps one by one, or by values), or has no rule for
tensors without values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.torch_internals import DispatchKey, fake_impls

aten = torch.ops.aten


def _covariances(x: Any, aweights: Any = None, **_: Any) -> Any:
    """One number for each pair of rows."""
    kind = x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else torch.get_default_dtype()
    if aweights is not None:
        kind = torch.promote_types(kind, aweights.dtype)
    return x.new_empty([x.shape[0]] * 2 if x.ndim == 2 else [], dtype=kind)


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


def _like_first(x: Any, *_: Any) -> Any:
    """A result of the same type and shape."""
    return torch.empty_like(x)


def _distances(x: Any, y: Any, p: float = 2.0, compute_mode: int | None = None) -> Any:
    """Distances of all rows."""
    front = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return x.new_empty([*front, x.shape[-2], y.shape[-2]])


FAKES: dict[Any, Callable[..., Any]] = {
    aten.cdist.default: _distances,
    aten.cov.default: _covariances,
    aten.narrow.Tensor: _narrow,
    aten.ctc_loss.IntList: _ctc_loss,
    aten.ctc_loss.Tensor: _ctc_loss,
    aten.one_hot.default: _one_hot,
    aten.fake_quantize_per_channel_affine.default: _like_first,
    aten.fake_quantize_per_tensor_affine.default: _like_first,
    aten.fake_quantize_per_tensor_affine.tensor_qparams: _like_first,
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
}
"""Operators with kernels of their own -> the same, given torch's mode and the operator first."""


def taken_as_it_is(operator: Any) -> Callable[[Changes, Any], None]:
    """The change that lets torch take an operator as it is.

    Args:
        operator: a key of `FAKES` or `RULES`.
    """

    def change(changes: Changes, model: Any) -> None:
        if operator in FAKES:
            changes.kernels(DispatchKey.CompositeImplicitAutograd, {operator: FAKES[operator]})
        elif operator not in fake_impls.op_implementations_dict:
            changes.items(fake_impls.op_implementations_dict, {operator: RULES[operator]})

    return change


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
