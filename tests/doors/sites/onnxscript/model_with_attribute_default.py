from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N"], alpha: float = 0.2) -> FLOAT["N"]:
    return op.LeakyRelu(x, alpha=alpha)


x = np.array([-1, 1], np.float32)
np.testing.assert_allclose(run(f.to_model_proto(), x=x)[0], [-0.2, 1])
