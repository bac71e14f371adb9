"""Models converted between opset versions, up and down."""

from onnxwright.optimizer.versions.api import convert_version

__all__ = ["convert_version"]
