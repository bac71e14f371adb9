import numpy as np
from onnx import parser

from onnxwright import run_model

text = '<ir_version: 10, opset_import: ["" : 18]> g (float[N] x) => (float[N] y) { y = Neg(x) }'
run_model(parser.parse_model(text), [np.zeros(2, np.float32)])
