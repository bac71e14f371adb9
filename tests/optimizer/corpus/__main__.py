"""Write the corpus as models with inputs, for `check` and for benchmarks/optimize.py.

python -m tests.optimizer.corpus FOLDER [--ways ours torchscript dynamo] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

from tests.optimizer.corpus import sequences, vision  # noqa: F401 - register their own
from tests.optimizer.corpus.exporting import WAYS, write
from tests.optimizer.corpus.networks import NETWORKS


def main() -> None:
    """Export, and print what exporters refuse."""
    parser = argparse.ArgumentParser(description="Write the corpus as models with inputs.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS))
    parser.add_argument("--only", nargs="*", default=None)
    args = parser.parse_args()
    if importlib.util.find_spec("transformers") is not None:
        from tests.optimizer.corpus import library  # noqa: F401 - registers its own
    names = [n for n in NETWORKS if args.only is None or n in args.only]
    refused = write(args.folder, names, args.ways)
    for name, reason in refused.items():
        print(f"{name:32} {reason}")
    print(f"{len(names) * len(args.ways) - len(refused)} models, {len(refused)} refused")


if __name__ == "__main__":
    main()
