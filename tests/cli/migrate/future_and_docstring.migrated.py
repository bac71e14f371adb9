#!/usr/bin/env python3
# Exports a classifier.
"""Export.

    python export.py
"""

from __future__ import annotations

import argparse  # options

import torch
from onnxwright import torch_onnx


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--opset", type=int, default=17)
    given = parser.parse_args()
    model = torch.nn.Linear(2, 2)
    with torch.no_grad():
        torch_onnx.export(
            model, torch.randn(1, 2), "model.onnx", opset_version=given.opset
        )


import numpy  # noqa: E402

if __name__ == "__main__":
    main()
