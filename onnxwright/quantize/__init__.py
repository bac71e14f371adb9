"""Small weights and half precision: rewrites of any finished model."""

from onnxwright.quantize.half import HalfReport, to_half
from onnxwright.quantize.quantize_weights import quantize_weights
from onnxwright.quantize.report import QuantizedWeight, QuantizeReport, Skipped
from onnxwright.quantize.rounding import round_to_nearest

__all__ = [
    "HalfReport", "QuantizeReport", "QuantizedWeight", "Skipped", "quantize_weights",
    "round_to_nearest", "to_half",
]  # fmt: skip
