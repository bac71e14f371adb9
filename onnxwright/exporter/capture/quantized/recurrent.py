"""Dynamic quantized LSTM, GRU and cells, with weights that are stored as integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from onnxwright.exporter.capture.quantized.packed import CellWeights, Packed

_LEVELS, _LEVELS_REDUCED = 255, 127


def recurrent(kind: str) -> Callable[..., Any]:
    """A rule for a dynamic quantized LSTM or GRU: the float one, with dequantized weights."""

    def rule(x: Any, *rest: Any, dtype: Any = None, use_dynamic: bool = False) -> Any:
        del dtype, use_dynamic
        place = next(n for n, a in enumerate(rest) if _holds_cells(a))
        cells: list[CellWeights] = list(rest[place])
        biases = rest[place + 1]
        flat = [w for cell in cells for w in cell.weights(biases)]
        before, after = rest[:place], rest[place + 1 :]
        return getattr(torch, kind)(x, *before, flat, *after)

    return rule


def _holds_cells(x: Any) -> bool:
    return isinstance(x, (list, tuple)) and bool(x) and isinstance(x[0], CellWeights)


def round_dynamically(x: Any, *, reduce_range: bool) -> Any:
    """Numbers rounded by a scale of their own, found at run time, as dynamic modules do.

    Args:
        reduce_range: whether seven bits are used, as torch does for its kernels of x86.
    """
    ops = torch.ops.quantized_decomposed
    most = _LEVELS_REDUCED if reduce_range else _LEVELS
    eps = float(torch.finfo(torch.float32).eps)
    step, zero = ops.choose_qparams.tensor(x, 0, most, eps, torch.uint8)
    whole = ops.quantize_per_tensor.tensor(x, step, zero, 0, 255, torch.uint8)
    return ops.dequantize_per_tensor.tensor(whole, step, zero, 0, 255, torch.uint8)


def _gates(x: Any, packed: Packed) -> Any:
    """The product of a cell; activations are rounded unless weights are floats of 16 bits."""
    rounded = x if packed.stored.kind is None else round_dynamically(x, reduce_range=True)
    return functional.linear(rounded, packed.weight(), packed.bias())


def lstm_cell(x: Any, hx: Any, w_ih: Packed, w_hh: Packed, *biases: Any) -> Any:
    """One step of an LSTM.

    Args:
        x: the input, `[B, input]`.
        hx: hidden and cell state, `[B, hidden]` each.
        biases: the biases again, which torch does not read either.

    Source:
        aten/src/ATen/native/RNN.cpp, `LSTMCell`.
    """
    del biases
    hidden, cell = hx
    gates = _gates(x, w_ih) + _gates(hidden, w_hh)
    i, f, g, o = gates.chunk(4, 1)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


def gru_cell(x: Any, hidden: Any, w_ih: Packed, w_hh: Packed, *biases: Any) -> Any:
    """One step of a GRU.

    Args:
        x: the input, `[B, input]`.
        hidden: the state, `[B, hidden]`.
        biases: the biases again, which torch does not read either.

    Source:
        aten/src/ATen/native/RNN.cpp, `GRUCell`.
    """
    del biases
    reset_x, update_x, new_x = _gates(x, w_ih).chunk(3, 1)
    reset_h, update_h, new_h = _gates(hidden, w_hh).chunk(3, 1)
    reset, update = torch.sigmoid(reset_x + reset_h), torch.sigmoid(update_x + update_h)
    new = torch.tanh(new_x + reset * new_h)
    return (hidden - new) * update + new


def rnn_cell(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """A rule for one step of a plain recurrent network."""

    def rule(x: Any, hidden: Any, w_ih: Packed, w_hh: Packed, *biases: Any) -> Any:
        del biases
        return function(_gates(x, w_ih) + _gates(hidden, w_hh))

    return rule
