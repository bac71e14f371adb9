"""Write the models of all dialects: python -m tests.optimizer.corpus.dialects FOLDER."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

import onnx

from tests.optimizer.corpus.dialects import MODELS
from tests.optimizer.corpus.stored import names, stored


def main() -> None:
    """Write each model as a file."""
    parser = argparse.ArgumentParser(description="Write the models of all dialects.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stored", type=int, metavar="N", help="and every Nth stored export")
    args = parser.parse_args()
    if importlib.util.find_spec("torch") is not None:
        from tests.optimizer.corpus.dialects import torchscript  # noqa: F401 - registers its own
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, dialect in MODELS.items():
        onnx.save(dialect.make(), args.folder / f"{name}.onnx")
    print(f"{len(MODELS)} models")
    if args.stored:
        some = names()[:: args.stored]
        for name in some:
            stored(name).save(args.folder)
        print(f"{len(some)} stored exports")


if __name__ == "__main__":
    main()
