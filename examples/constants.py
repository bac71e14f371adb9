"""Values from the enclosing scope, numpy arrays and configuration alike, become constants."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime

from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@dataclass
class Config:
    """What a model is built from."""

    width: int
    temperature: float


def make_head(weight: np.ndarray, config: Config) -> Any:
    """A function that carries a weight and settings of its own."""

    @script()
    def head(x: FLOAT["N", 8]) -> FLOAT["N", "K"]:
        scores = op.MatMul(x, weight) / config.temperature
        return op.Softmax(scores[:, : config.width] + math.pi, axis=-1)

    return head


rng = np.random.default_rng(0)
x = rng.normal(size=(2, 8)).astype(np.float32)
weight = rng.normal(size=(8, 5)).astype(np.float32)

for config in (Config(width=3, temperature=1.0), Config(width=5, temperature=2.5)):
    head = make_head(weight, config)
    model = head.to_model_proto()
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (compiled,) = session.run(None, {"x": x})
    np.testing.assert_allclose(head(x), compiled, rtol=1e-5)
    print(config, "->", compiled.shape, "rows sum to", compiled.sum(axis=1).round(4))
