# warns: OW710 OW710
from onnxscript import BOOL, FLOAT, graph, script
from onnxscript import opset17 as op


@script(default_opset=op)
def f(x: FLOAT["N"], flag: BOOL) -> FLOAT["N"]:
    @graph()
    def yes():
        return op.Relu(x)

    @graph()
    def no():
        return op.Neg(x)

    return op.If(flag, then_branch=yes, else_branch=no)


x = np.array([-1, 2.5], np.float32)
np.testing.assert_allclose(run(f.to_model_proto(), x=x, flag=np.array(True))[0], [0, 2.5])
np.testing.assert_allclose(run(f.to_model_proto(), x=x, flag=np.array(False))[0], -x)
