"""Models converted between opset versions, up and down."""

from onnxwright.versions.api import convert_version

__all__ = ["convert_version"]
