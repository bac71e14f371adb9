"""What the modules of dialects build their models with: text, and weights that look trained."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper, parser


@dataclass(frozen=True)
class Dialect:
    """A model as one converter writes it.

    Fields:
        name: the converter and the model: `tensorflow.dense`.
        make: makes it.
    """

    name: str
    make: Callable[[], onnx.ModelProto]


# Name -> the model; filled by the modules.
MODELS: dict[str, Dialect] = {}


def register(dialect: str, **models: Callable[[], onnx.ModelProto]) -> None:
    """Add models to the table.

    Args:
        dialect: the converter.
        **models: what makes each.
    """
    for name, make in models.items():
        full = f"{dialect}.{name}"
        MODELS[full] = Dialect(full, make)


def model(
    text: str, opset: int = 13, *, ir: int = 7, domains: str = "", **weights: Any
) -> onnx.ModelProto:
    """A model from text, with initializers.

    Args:
        text: inputs, outputs and nodes: `(float[N,4] x) => (float[N,2] y) { ... }`.
        opset: of the standard domain.
        ir: the IR version.
        domains: further imports: `"ai.onnx.ml" : 3`.
        **weights: arrays, numbers or lists, which are INT64 where they are whole; a tuple is a
            shape, whose weight is drawn.

    Returns:
        The model.
    """
    imports = f'"" : {opset}' + (f", {domains}" if domains else "")
    proto = parser.parse_model(f"<ir_version: {ir}, opset_import: [{imports}]> g {text}")
    for name, weight in weights.items():
        proto.graph.initializer.append(numpy_helper.from_array(_array(name, weight), name))
    return proto


def _array(name: str, weight: Any) -> np.ndarray[Any, Any]:
    if isinstance(weight, np.ndarray):
        return weight
    if not isinstance(weight, tuple):
        array = np.asarray(weight)
        return array.astype(np.float32) if array.dtype.kind == "f" else array
    rng = np.random.default_rng(zlib.crc32(f"{name}{weight}".encode()))
    scale = 1 / np.sqrt(max(weight[-1] if weight else 1, 1))
    drawn = rng.normal(size=weight) * scale
    # Scales and variances are positive.
    array = abs(drawn) + 0.5 if name.startswith(("scale", "var", "gamma")) else drawn
    return np.asarray(array, np.float32)


__all__ = ["MODELS", "Dialect", "model", "register"]
