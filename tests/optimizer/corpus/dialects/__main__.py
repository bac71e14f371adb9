"""Write the models of all dialects: python -m tests.optimizer.corpus.dialects FOLDER."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

import onnx

from tests.optimizer.corpus.dialects import MODELS


def main() -> None:
    """Write each model as a file."""
    parser = argparse.ArgumentParser(description="Write the models of all dialects.")
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    if importlib.util.find_spec("torch") is not None:
        from tests.optimizer.corpus.dialects import torchscript  # noqa: F401 - registers its own
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, dialect in MODELS.items():
        onnx.save(dialect.make(), given.folder / f"{name}.onnx")
    print(f"{len(MODELS)} models")


if __name__ == "__main__":
    main()
