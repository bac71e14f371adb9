"""Adapters by topic; importing this package registers them all."""

from onnxwright.versions.rules import (  # noqa: F401 - they register their rules
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
