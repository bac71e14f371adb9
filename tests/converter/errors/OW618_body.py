import numpy as np

from onnxwright import opset18 as op

op.Scan(np.zeros(2, np.float32), np.ones((3, 2), np.float32), num_scan_inputs=1, body=lambda total, row: total + row)
