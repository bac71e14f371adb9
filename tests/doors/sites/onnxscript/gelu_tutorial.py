# warns: OW710 OW710
import math
from onnxscript import script, FLOAT
from onnxscript import opset15 as op


M_SQRT1_2 = math.sqrt(0.5)


@script(default_opset=op)
def gelu(X: FLOAT[...]) -> FLOAT[...]:
    phiX = 0.5 * (op.Erf(M_SQRT1_2 * X) + 1.0)
    return X * phiX


x = np.linspace(-2, 2, 7, dtype=np.float32)
want = np.array([v * 0.5 * (math.erf(v * math.sqrt(0.5)) + 1) for v in x], np.float32)
np.testing.assert_allclose(gelu(x), want, rtol=1e-5, atol=1e-6)
np.testing.assert_allclose(run(gelu.to_model_proto(), X=x)[0], want, rtol=1e-5, atol=1e-6)
