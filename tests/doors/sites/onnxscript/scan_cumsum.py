from onnxscript import graph, script
from onnxscript import opset15 as op
from onnxscript.onnx_types import FLOAT


@script(default_opset=op)
def CumulativeSum(X: FLOAT["N", 2]) -> (FLOAT[2], FLOAT["N", 2]):
    @graph()
    def Sum(sum_in, next):
        sum_out = sum_in + next
        scan_out = op.Identity(sum_out)
        return sum_out, scan_out

    zero = op.Constant(value_floats=[0.0, 0.0])
    all_sum, cumulative_sum = op.Scan(zero, X, body=Sum, num_scan_inputs=1)
    return all_sum, cumulative_sum


x = np.arange(6, dtype=np.float32).reshape(3, 2)
last, rows = run(CumulativeSum.to_model_proto(), X=x)
np.testing.assert_allclose(rows, x.cumsum(0))
last, rows = CumulativeSum(x)
np.testing.assert_allclose(np.array(last), x.sum(0))
