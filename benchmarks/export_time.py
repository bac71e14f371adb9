"""What `export` costs beside `torch.export.export`, for programs that decide nothing.

    python benchmarks/export_time.py                     # eight programs
    python benchmarks/export_time.py --only relu mlp     # names that begin so
    python benchmarks/export_time.py --profile encoder   # where the time of one goes

Both are called in turns; the figures are the medians of processor times, in milliseconds, and ours
over torch's.  Ours has the capture, the translation into ONNX and `optimize`.  The aim is 1.3.
"""

from __future__ import annotations

import argparse
import cProfile
import math
import pstats
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import onnxwright as ow

Case = tuple[nn.Module, tuple[Any, ...], Any]
BATCH = ({0: torch.export.Dim.DYNAMIC},)


def relu() -> Case:
    """One operator."""
    return nn.ReLU(), (torch.ones(2, 3),), None


def mlp() -> Case:
    """Three layers, any batch."""
    layers = [nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 4)]
    return nn.Sequential(*layers), (torch.ones(4, 16),), BATCH


def lstm() -> Case:
    """A recurrent network."""
    return nn.LSTM(8, 16, num_layers=2, batch_first=True), (torch.ones(2, 5, 8),), None


def convolutions() -> Case:
    """Twelve convolutions with normalization."""
    layers: list[nn.Module] = []
    for n in range(12):
        layers += [nn.Conv2d(3 if n == 0 else 8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()]
    return nn.Sequential(*layers), (torch.ones(2, 3, 16, 16),), BATCH


class Residual(nn.Module):
    """A residual block."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: Any) -> Any:
        """Two convolutions and the input."""
        return torch.relu(x + self.second(torch.relu(self.first(x))))


def residual() -> Case:
    """Eight residual blocks."""
    return nn.Sequential(*(Residual() for _ in range(8))), (torch.ones(2, 8, 16, 16),), BATCH


def encoder() -> Case:
    """Four layers of an encoder, any batch."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    return model, (torch.ones(2, 6, 16),), BATCH


class Attention(nn.Module):
    """Attention as models write it."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)

    def forward(self, x: Any) -> Any:
        """Residual attention, [batch, length, 16]."""
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, 2, 8).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(1, 2).reshape(batch, length, 16))


def attention() -> Case:
    """Six layers of attention, any batch and length."""
    sizes = ({0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC},)
    return nn.Sequential(*(Attention() for _ in range(6))), (torch.ones(2, 6, 16),), sizes


def decoder() -> Case:
    """Two layers of an encoder and a decoder."""
    model = nn.Transformer(16, 2, 2, 2, 32, batch_first=True)
    return model, (torch.ones(2, 6, 16), torch.ones(2, 4, 16)), None


CASES: dict[str, Callable[[], Case]] = {
    f.__name__: f for f in (relu, mlp, lstm, convolutions, residual, encoder, attention, decoder)
}


def by_torch(case: Case) -> None:
    """Capture alone."""
    model, args, sizes = case
    torch.export.export(model, args, dynamic_shapes=sizes)


def ours(case: Case) -> None:
    """The whole export."""
    model, args, sizes = case
    ow.export(model, args, dynamic_shapes=sizes)


def measured(case: Case, repeat: int) -> tuple[float, float]:
    """Medians of both, in milliseconds of processor time."""
    times: dict[Any, list[float]] = {by_torch: [], ours: []}
    for _ in range(repeat):
        for run, found in times.items():
            begun = time.process_time()
            run(case)
            found.append(1000 * (time.process_time() - begun))
    return statistics.median(times[by_torch]), statistics.median(times[ours])


def main() -> int:
    """Print one line for each program.

    Returns:
        0.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[""], metavar="NAME")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--profile", metavar="NAME", help="print where the time of one goes")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.profile:
        model, args, sizes = CASES[given.profile]()
        case = model.eval(), args, sizes
        ours(case)
        with cProfile.Profile() as profile:
            for _ in range(given.repeat):
                ours(case)
        pstats.Stats(profile).sort_stats("cumulative").print_stats("onnxwright", 45)
        return 0
    ratios = []
    for name, make in CASES.items():
        if not name.startswith(tuple(given.only)):
            continue
        model, args, sizes = make()
        case = model.eval(), args, sizes
        by_torch(case), ours(case)  # what is made once
        one, two = measured(case, given.repeat)
        ratios.append(two / one)
        print(f"{name:<14}{one:9.1f}{two:9.1f}{two / one:7.2f}", flush=True)
    mean = math.exp(statistics.mean(map(math.log, ratios)))
    print(f"{'geometric mean':<32}{mean:7.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
