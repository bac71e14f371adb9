"""Packed weights of quantized modules, unpacked: integers with scales as buffers of the module.

Torch keeps the weights of `torch.ao.nn.quantized` modules in objects of C++ that no capture reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

_NARROW = {torch.qint8: (torch.int8, -128, 127), torch.quint8: (torch.uint8, 0, 255)}


class Stored:
    """A quantized tensor whose integers, scales and zero points are buffers of a module.

    Args:
        name: how its buffers are called: `weight` gives `weight_int`, `weight_scale` ...
    """

    def __init__(self, owner: torch.nn.Module, name: str, tensor: torch.Tensor) -> None:
        self.owner = owner
        self.name = name
        self.kind = tensor.qscheme() if tensor.is_quantized else None
        if self.kind is None:
            self._hold("half" if tensor.dtype is torch.float16 else "float", tensor)
            self.form = tensor.dtype
            return
        self.plain, self.low, self.high = _NARROW[tensor.dtype]
        self._hold("int", tensor.int_repr())
        if self.kind is torch.per_tensor_affine:
            self.scale, self.zero = tensor.q_scale(), tensor.q_zero_point()
            return
        self.axis = tensor.q_per_channel_axis()
        zeros = tensor.q_per_channel_zero_points()
        self._hold("scale", tensor.q_per_channel_scales().float())
        self.has_zeros = bool(zeros.any())
        if self.has_zeros:
            whole = self.kind is torch.per_channel_affine
            self._hold("zero_point", zeros.to(self.plain) if whole else zeros.float())

    def _hold(self, what: str, tensor: torch.Tensor) -> None:
        self.owner.register_buffer(f"{self.name}_{what}", tensor.detach())

    def held(self, what: str) -> Any:
        """A buffer as it is now: a capture puts fake tensors in their places."""
        return self.owner._buffers[f"{self.name}_{what}"]

    def numbers(self) -> Any:
        """The numbers, as operators on the integers."""
        ops = torch.ops.quantized_decomposed
        if self.kind is None:
            half = self.form is torch.float16
            return self.held("half").float() if half else self.held("float")
        whole, limits = self.held("int"), (self.low, self.high, self.plain)
        if self.kind is torch.per_tensor_affine:
            return ops.dequantize_per_tensor(whole, self.scale, self.zero, *limits)
        zeros = self.held("zero_point") if self.has_zeros else None
        return ops.dequantize_per_channel(whole, self.held("scale"), zeros, self.axis, *limits)


class Packed:
    """Stands for the packed weights of a linear or convolutional module.

    Args:
        name: how its buffers are called.
        half: whether weights are floats of 16 bits.
    """

    def __init__(
        self, owner: torch.nn.Module, packed: Any, name: str = "weight", *, half: bool = False
    ) -> None:
        half = half or getattr(owner, "dtype", None) is torch.float16
        weight, bias = packed.unpack()
        self.stored = Stored(owner, name, weight.half() if half else weight)
        self.has_bias = bias is not None
        self.owner, self.name = owner, name
        if bias is not None:
            owner.register_buffer(f"{name}_bias", bias.detach())
        self.form = None
        if hasattr(packed, "stride"):
            self.form = {
                "stride": list(packed.stride()),
                "padding": list(packed.padding()),
                "dilation": list(packed.dilation()),
                "groups": int(packed.groups()),
            }
            self.transpose = bool(packed.transpose())
            self.output_padding = list(packed.output_padding())

    def weight(self) -> Any:
        """The weight."""
        return self.stored.numbers()

    def bias(self) -> Any:
        """The bias, or None."""
        return self.owner._buffers[f"{self.name}_bias"] if self.has_bias else None

    def convolution(self, x: Any) -> Any:
        """The convolution of an input."""
        assert self.form is not None
        weight, form = self.weight(), dict(self.form)
        rank = weight.dim() - 2
        if x.dim() == rank + 1 and rank == 2:  # one axis, which torch packs as two
            x = x.unsqueeze(2)
            return self._applied(x, weight, form, rank).squeeze(2)
        return self._applied(x, weight, form, rank)

    def _applied(self, x: Any, weight: Any, form: dict[str, Any], rank: int) -> Any:
        if self.transpose:
            names = ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
            function = getattr(functional, names[rank - 1])
            return function(x, weight, self.bias(), output_padding=self.output_padding, **form)
        function = getattr(functional, f"conv{rank}d")
        return function(x, weight, self.bias(), **form)


class PackedRows:
    """Stands for the packed table of an embedding."""

    def __init__(self, owner: torch.nn.Module, packed: Any) -> None:
        table = torch.ops.quantized.embedding_bag_unpack(packed)
        self.owner = owner
        zeros = table.q_per_channel_zero_points().float()
        owner.register_buffer("weight_int", _whole(table))
        owner.register_buffer("weight_scale", table.q_per_channel_scales().float())
        owner.register_buffer("weight_zero_point", zeros)

    def rows(self, indices: Any) -> Any:
        """Some rows."""
        held = self.owner._buffers
        whole = functional.embedding(indices, held["weight_int"]).float()
        zero = functional.embedding(indices, held["weight_zero_point"].unsqueeze(1))
        step = functional.embedding(indices, held["weight_scale"].unsqueeze(1))
        return (whole - zero) * step

    def table(self) -> Any:
        """All rows."""
        held = self.owner._buffers
        whole = held["weight_int"].float() - held["weight_zero_point"].unsqueeze(1)
        return whole * held["weight_scale"].unsqueeze(1)


def _whole(table: torch.Tensor) -> torch.Tensor:
    """The integers of a table, one to a byte."""
    if table.dtype is not torch.quint4x2:
        return table.int_repr()
    pairs = table.int_repr().reshape(-1)
    both = torch.stack([pairs & 0x0F, pairs >> 4], -1).reshape(-1)
    return both[: table.numel()].reshape(table.shape).contiguous()


class CellWeights:
    """Stands for the packed weights of one layer and direction of an LSTM or GRU."""

    def __init__(self, owner: torch.nn.Module, packed: Any) -> None:
        kind, _, _, _, parts = packed.__getstate__()[0]
        half = kind == "quantized_fp16"
        names = ("weight_ih", "weight_hh")
        self.parts = [
            Packed(owner, part, name, half=half) for part, name in zip(parts, names, strict=True)
        ]

    def weights(self, biases: bool) -> list[Any]:
        """The weights in torch's order for `torch.lstm`."""
        weights = [part.weight() for part in self.parts]
        return [*weights, *(part.bias() for part in self.parts)] if biases else weights


# -- dynamic quantized LSTM, GRU and cells, with weights that are stored as integers ---------------

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
