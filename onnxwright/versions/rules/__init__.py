"""Adapters by topic; importing this package registers them all."""

from onnxwright.versions.rules import (
    axes,
    before_seven,
    down_axes,
    down_windows,
    einsums,
    families,
    ml,
    neural,
    scattering,
    trees,
    windows,
)

__all__ = [
    "axes",
    "before_seven",
    "down_axes",
    "down_windows",
    "einsums",
    "families",
    "ml",
    "neural",
    "scattering",
    "trees",
    "windows",
]
