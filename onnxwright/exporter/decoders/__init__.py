"""Decoders: causal language models of transformers as folders that runtimes generate text with."""

from onnxwright.exporter.decoders.export_decoder import export_decoder
from onnxwright.exporter.decoders.model_caches import cache_of
from onnxwright.exporter.decoders.report import DecoderReport, TokenCheck

__all__ = ["DecoderReport", "TokenCheck", "cache_of", "export_decoder"]
