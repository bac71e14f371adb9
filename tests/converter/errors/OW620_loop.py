import numpy as np

from onnxwright import opset18 as op


def body(total, row):
    return total + row, row


op.Scan(np.float32(0), np.ones(3, np.float32), np.ones(2, np.float32), num_scan_inputs=2, body=body)
