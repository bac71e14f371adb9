"""Adapters by topic; importing this package registers them all."""

from onnxwright.optimizer.versions.rules import (
    axes,
    down_axes,
    down_neural,
    down_windows,
    ml,
    neural,
    windows,
)

__all__ = ["axes", "down_axes", "down_neural", "down_windows", "ml", "neural", "windows"]
