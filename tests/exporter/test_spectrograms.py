"""Short-time Fourier transforms over signals of any length."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn, randn

from tests.exporter.programs import Program, Programs, run
from tests.harness.modules import module_with

PROGRAMS = Programs()
DYNAMIC = {"x": {0: "b", 1: "t"}}
# Reflected padding needs more samples than half a window.
SIZES = ({"b": 3, "t": 161}, {"b": 1, "t": 64})


def _signal() -> tuple[Any, ...]:
    return (randn(2, 100),)


@PROGRAMS(_signal, dynamic=DYNAMIC, sizes=SIZES)
@module_with(
    lambda: {"window": nn.Buffer(torch.hann_window(20)), "filters": nn.Buffer(torch.rand(17, 8))}
)
def LogMel(self, x):
    """As torchaudio's MelSpectrogram: leading axes joined, power, a bank of filters, decibels."""
    rows = x.reshape(-1, x.shape[-1])
    found = torch.stft(
        rows, 32, 8, win_length=20, window=self.window, normalized=True, return_complex=True
    )
    power = found.reshape(*x.shape[:-1], *found.shape[-2:]).abs().pow(2)
    loudness = 10 * torch.log10((power.transpose(-1, -2) @ self.filters).clamp(min=1e-10))
    return torch.maximum(loudness, loudness.amax((-2, -1), keepdim=True) - 80)


@PROGRAMS(_signal, dynamic=DYNAMIC, sizes=SIZES)
def whisper(x):
    """A window of the function, the last piece left out."""
    found = torch.stft(x, 32, 8, window=torch.hann_window(32), return_complex=True)
    return found[..., :-1].abs() ** 2


@PROGRAMS(_signal, dynamic=DYNAMIC, sizes=SIZES)
def two_sided_without_centering(x):
    """All frequencies; pieces that do not fit are left out."""
    window = torch.hamming_window(32)
    return torch.stft(x, 32, 10, None, window, center=False, onesided=False, return_complex=True)


@PROGRAMS(_signal, dynamic=DYNAMIC, sizes=SIZES)
def there_and_back(x):
    """A mask of frequencies; the signal has its old length."""
    window = torch.hann_window(32)
    found = torch.stft(x, 32, 8, window=window, pad_mode="constant", return_complex=True)
    found = found * torch.sigmoid(found.abs())
    return torch.istft(found, 32, 8, window=window, length=x.shape[-1])


@PROGRAMS(_signal, dynamic=DYNAMIC, sizes=SIZES)
def beyond_the_end(x):
    """A longer signal ends with zeros, a shorter one is cut."""
    window = torch.hann_window(32)
    found = torch.stft(x, 32, 8, window=window, return_complex=True)
    longer = torch.istft(found, 32, 8, window=window, length=x.shape[-1] * 2)
    return longer, torch.istft(found, 32, 8, window=window, length=x.shape[-1] // 2)


@pytest.mark.share(3)
@pytest.mark.filterwarnings("ignore:The length of signal is shorter")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program: Program) -> None:
    run(program)
