from onnxscript import FLOAT, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N", 2], w: FLOAT[2, 2], b: FLOAT[2]) -> FLOAT["N", 2]:
    return op.Gemm(A=x, B=w, C=b, alpha=0.5, transB=1)


rng = np.random.default_rng(0)
x, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((3, 2), (2, 2), (2,)))
np.testing.assert_allclose(run(f.to_model_proto(), x=x, w=w, b=b)[0], 0.5 * x @ w.T + b, rtol=1e-4, atol=1e-5)
np.testing.assert_allclose(f(x=x, w=w, b=b), 0.5 * x @ w.T + b, rtol=1e-4, atol=1e-5)
