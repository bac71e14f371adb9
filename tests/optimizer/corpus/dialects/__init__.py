"""Small models as other converters write them: each dialect a module, each model a function.

`python -m tests.optimizer.corpus.dialects FOLDER` writes them for `benchmarks/optimize.py`.
"""

from __future__ import annotations

from tests.optimizer.corpus.dialects import (
    coreml,
    keras,
    ort_transformers,
    paddle,
    sklearn,
    tensorflow,
)
from tests.optimizer.corpus.dialects.building import MODELS, Dialect

__all__ = [
    "MODELS", "Dialect", "coreml", "keras", "ort_transformers", "paddle", "sklearn", "tensorflow",
]  # fmt: skip
