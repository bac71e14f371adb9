import numpy as np

from onnxwright import opset18 as op


def body(total, row):
    print(total + row)


op.Scan(np.zeros(2, np.float32), np.ones((3, 2), np.float32), num_scan_inputs=1, body=body)
