"""Errors that say that a capture cannot go on; `except` of the model does not see them."""

from __future__ import annotations

from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxwright.exporter.capture.source.errors import RefusedError
from onnxwright.exporter.capture.source.iterators import RunTimeLengthError

REFUSED = (RefusedError, RunTimeLengthError, GuardOnDataDependentSymNode)
