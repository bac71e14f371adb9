"""What every site of this folder has around it, as in a file that checks itself."""

import numpy as np  # noqa: F401
import onnx  # noqa: F401
import onnxruntime as ort


def run(model, **inputs):
    """What a model computes in ONNX Runtime."""
    model.ir_version = min(model.ir_version, 10)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)
