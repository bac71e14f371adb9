"""What a capture by source costs a program that needs no rewriting.

    python benchmarks/capture_source.py
    python benchmarks/capture_source.py --repeat 9 --only mlp encoder-12

Each network is captured without rewriting (`capture="substitutes"`), by source, which then finds
nothing to rewrite, and by "auto", in turns; the figures are the fastest processor times, and what
they are beside the first.  The aim is 1.20 at most.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.export import CASES
from onnxwright.exporter.capture.pipeline import capture_model
from onnxwright.exporter.report.export_report import Report

WAYS = ("substitutes", "source", "auto")


def measured(name: str, repeat: int) -> dict[str, float]:
    """The fastest capture of a network in each way, in seconds of processor time."""
    model, kwargs, shapes = CASES[name]()
    best = dict.fromkeys(WAYS, float("inf"))
    for _ in range(repeat):
        for way in WAYS:
            begun = time.process_time()
            capture_model(model.eval(), (), kwargs, shapes, way, Report())
            best[way] = min(best[way], time.process_time() - begun)
    return best


def main() -> int:
    """Print a line for each network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=["mlp", "resnet", "llama"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    slow = False
    print(f"{'network':12}" + "".join(f"{way:>14}" for way in WAYS) + f"{'source':>10}{'auto':>8}")
    for name in CASES:
        if not name.startswith(tuple(given.only)):
            continue
        best = measured(name, given.repeat)
        ratios = [best[way] / best["substitutes"] for way in WAYS[1:]]
        slow |= max(ratios) > 1.2
        seconds = "".join(f"{best[way]:14.3f}" for way in WAYS)
        print(f"{name:12}{seconds}{ratios[0]:10.2f}{ratios[1]:8.2f}", flush=True)
    return int(slow)


if __name__ == "__main__":
    raise SystemExit(main())
