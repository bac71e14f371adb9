import numpy as np

from onnxwright import opset18 as op

x = np.ones((1, 1, 4, 4), np.float32)


def pool(x):
    result = op.MaxPool(x, kernel_shape=[2, 2], _outputs=2)
    y, indices = result
    return y, indices


pool(x)
