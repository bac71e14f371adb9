"""Packed sequences while capturing: padded batches with the lengths of their rows.

The size of a packed sequence depends on the values of the lengths, which no capture follows.  Here
`pack_padded_sequence` keeps the batch padded, recurrent modules take the lengths as an operand (one
node with `sequence_lens` for each layer), and `pad_packed_sequence` cuts at the longest row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.ao.nn.quantized.dynamic.modules import rnn as dynamic
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.nn.utils.rnn import PackedSequence
from typing_extensions import Self

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter.capture.session.changes import Changes

# -- recurrent operators with lengths --------------------------------------------------------------


def _register(name: str, function: Callable[..., Any], *, several: bool = False) -> Any:
    """An operator for a network over a padded batch `[T, B, input]` whose rows have lengths.

    Args:
        function: torch's own, which takes packed sequences.
        several: whether the state is a list of tensors, as that of an LSTM (hidden and cell).
    """

    def with_lengths(x: Any, lengths: Any, hx: Any, params: Any, *options: Any) -> Any:
        return _by_packing(function, x, lengths, hx, params, options)

    results = ", ".join(["Tensor"] * (3 if several else 2))
    schema = (
        f"(Tensor input, Tensor lengths, Tensor{'[]' if several else ''} hx, Tensor[] params, "
        "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) "
        f"-> ({results})"
    )
    operator = torch.library.custom_op(
        f"onnxwright::{name}_lengths", with_lengths, mutates_args=(), schema=schema
    )

    @operator.register_fake  # type: ignore[untyped-decorator] # torch's own
    def _(x: Any, lengths: Any, hx: Any, params: Any, *options: Any) -> Any:
        states = hx if several else [hx]
        width = states[0].shape[-1] * (2 if options[-1] else 1)
        return (x.new_empty([x.shape[0], x.shape[1], width]), *map(torch.empty_like, states))

    return operator


def _by_packing(
    function: Any, x: Any, lengths: Any, hx: Any, params: Any, options: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The results by torch's own packed sequences."""
    order = torch.argsort(lengths, descending=True, stable=True)
    back = torch.argsort(order)
    data, sizes = torch._pack_padded_sequence(x[:, order], lengths[order].cpu(), False)
    several = isinstance(hx, (list, tuple))
    states = [h[:, order] for h in (hx if several else [hx])]
    results = function(data, sizes, states if several else states[0], params, *options)
    y, _ = torch._pad_packed_sequence(results[0], sizes, False, 0.0, x.shape[0])
    return (y[:, back].contiguous(), *(h[:, back].contiguous() for h in results[1:]))


_OPERATORS = {
    "LSTM": _register("lstm", torch.lstm, several=True),
    "GRU": _register("gru", torch.gru),
    "RNN_TANH": _register("rnn_tanh", torch.rnn_tanh),
    "RNN_RELU": _register("rnn_relu", torch.rnn_relu),
}


# -- what stands for a packed sequence -------------------------------------------------------------


class Lengths:
    """Stands for the `batch_sizes` of a packed sequence: the lengths of its rows.

    Args:
        lengths: `[B]`.
        padded: the batch, `[T, B, ...]`.
    """

    def __init__(self, lengths: torch.Tensor, padded: torch.Tensor) -> None:
        self.lengths = lengths
        self.padded = padded
        self.device = torch.device("cpu")

    def size(self, dim: int = 0) -> Any:
        """The number of steps; it compares as no more than any other number."""
        del dim
        return _Longest()

    def __getitem__(self, place: Any) -> Any:
        if place == 0:
            return self.padded.shape[1]
        _refuse("batch_sizes")

    def cpu(self) -> Lengths:
        """Itself: lengths have no device of their own."""
        return self

    def to(self, *args: Any, **kwargs: Any) -> Lengths:
        """Itself, as `cpu`."""
        return self


class _Longest(int):
    """The length of the longest row, where only the run knows it."""

    def __new__(cls) -> Self:
        return super().__new__(cls, -1)

    def __gt__(self, other: object) -> bool:
        return False


_BY_ELEMENT = (
    "dropout relu relu_ relu6 tanh tanh_ sigmoid gelu silu elu leaky_relu softplus hardtanh mish "
    "selu exp log log1p abs neg sqrt square clamp add sub mul div true_divide pow __add__ __radd__ "
    "__sub__ __rsub__ __mul__ __rmul__ __truediv__ __pow__ __neg__ to float double half type_as "
    "clone contiguous detach linear embedding layer_norm"
)
_ROWWISE = frozenset(_BY_ELEMENT.split())
"""Functions that treat each step of each row alike, so that padding does not matter."""


class Data:
    """Stands for the `data` of a packed sequence: the padded batch.

    Args:
        values: `[T, B, ...]`.
        clean: whether what is beyond the lengths is zero.
    """

    def __init__(self, values: torch.Tensor, *, clean: bool = False) -> None:
        self.values = values
        self.clean = clean

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Functions of rows, one by one; others would count what is padded."""
        name = getattr(func, "__name__", "")
        operands = [*args, *(kwargs or {}).values()]
        tensors = [x for x in operands if isinstance(x, torch.Tensor)]
        fits = name in ("linear", "embedding") or all(x.ndim <= 1 for x in tensors)
        if name not in _ROWWISE or not fits:
            _refuse(name.strip("_") or "a function")
        plain = [x.values if isinstance(x, Data) else x for x in args]
        named = {k: x.values if isinstance(x, Data) else x for k, x in (kwargs or {}).items()}
        return cls(func(*plain, **named))

    def __getattr__(self, name: str) -> Any:
        if name in ("dtype", "device", "requires_grad", "is_cuda"):
            return getattr(self.values, name)
        if name.startswith("__") or name in ("shape", "ndim"):
            raise AttributeError(name)
        method = getattr(torch.Tensor, name)
        return lambda *args, **kwargs: self.__torch_function__(method, (), (self, *args), kwargs)

    def size(self, dim: int | None = None) -> Any:
        """The last size; the number of all steps depends on the lengths."""
        if dim == -1:
            return self.values.shape[-1]
        _refuse("size")


def _operator(name: str) -> Callable[..., Any]:
    method = getattr(torch.Tensor, name)
    return lambda self, *args: self.__torch_function__(method, (), (self, *args))


for _name in _ROWWISE:
    if _name.startswith("__"):
        setattr(Data, _name, _operator(_name))


def _refuse(function: str) -> Any:
    fail(messages.PackedData(function=function, span=user_span()))


def _pack(input: Any, lengths: Any, batch_first: bool) -> tuple[Data, Lengths]:  # noqa: A002
    """`_pack_padded_sequence`: the batch, time first."""
    padded = input.transpose(0, 1) if batch_first else input
    return Data(padded), Lengths(lengths, padded)


def _pad(
    data: Data, sizes: Lengths, batch_first: bool, padding: float, total: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """`_pad_packed_sequence`: the batch again, up to the longest row or a given length."""
    values, lengths = data.values, sizes.lengths.to(torch.int64)
    steps = values.shape[0]
    if padding != 0 or not data.clean:
        inside = torch.arange(steps, device=values.device).unsqueeze(1) < lengths
        inside = inside.reshape(*inside.shape, *[1] * (values.ndim - 2))
        values = torch.where(inside, values, torch.full([], padding, dtype=values.dtype))
    if isinstance(total, _Longest):
        longest = lengths.max().item()
        torch._check(longest >= 1)
        torch._check(longest <= steps)
        values = values.narrow(0, 0, longest)
    elif not statically_known_true(total == steps):
        more = [*[0] * (2 * values.ndim - 1), total]
        values = torch.nn.functional.pad(values, more, value=padding).narrow(0, 0, total)
    return (values.transpose(0, 1) if batch_first else values), lengths


def _weights(module: Any) -> list[Any]:
    """The weights of a recurrent module; those of dynamic quantized ones are dequantized."""
    if isinstance(module, dynamic.RNNBase):
        cells = [held.param for held in module._all_weight_values]
        return [w for cell in cells for w in cell.weights(module.bias)]
    return list(module._flat_weights)


def with_lengths(before: Callable[..., Any]) -> Callable[..., Any]:
    """A `forward` of recurrent modules that takes padded batches with lengths, too."""

    def forward(self: Any, input: Any, hx: Any = None) -> Any:  # noqa: A002 - torch's name
        if not (isinstance(input, PackedSequence) and isinstance(input.batch_sizes, Lengths)):
            return before(self, input, hx)
        data, sizes, order, back = input
        x = data.values
        has_cell = self.mode == "LSTM"
        if hx is None:
            count = self.num_layers * (2 if self.bidirectional else 1)
            width = getattr(self, "proj_size", 0) or self.hidden_size
            hx = x.new_zeros([count, x.shape[1], width])
            if has_cell:
                hx = (hx, x.new_zeros([count, x.shape[1], self.hidden_size]))
        else:
            hx = self.permute_hidden(hx, order)
        results = _OPERATORS[self.mode](
            x,
            sizes.lengths,
            list(hx) if has_cell else hx,
            _weights(self),
            self.bias,
            self.num_layers,
            float(self.dropout),
            self.training,
            self.bidirectional,
        )
        state = self.permute_hidden(tuple(results[1:]) if has_cell else results[1], back)
        return PackedSequence(Data(results[0], clean=True), sizes, order, back), state

    return forward


def sequences_padded(changes: Changes, model: Any) -> None:
    """Packed sequences are padded batches with lengths."""
    changes.attribute(torch._VF, "_pack_padded_sequence", _pack)
    changes.attribute(torch._VF, "_pad_packed_sequence", _pad)
