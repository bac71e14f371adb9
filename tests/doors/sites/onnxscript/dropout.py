# warns: OW710
from onnxscript import script
from onnxscript.onnx_opset import opset15 as op
from onnxscript.onnx_types import BOOL, FLOAT


@script()
def Dropout(data: FLOAT["N"], ratio: FLOAT, training_mode: BOOL, seed: float = 0.0):
    if training_mode:
        rand = op.RandomUniformLike(data, dtype=1, seed=seed)
        mask = rand >= ratio
        output = op.Where(mask, data, 0) / (1.0 - ratio)
    else:
        mask = op.ConstantOfShape(op.Shape(data), value=True)
        output = data
    return (output, mask)


@script(default_opset=op)
def net(x: FLOAT["N"], train: BOOL) -> FLOAT["N"]:
    y, mask = Dropout(x, 0.5, train, seed=3.0)
    return y


x = np.arange(4, dtype=np.float32)
np.testing.assert_array_equal(run(net.to_model_proto(), x=x, train=np.array(False))[0], x)
y, mask = Dropout(x, np.float32(0.25), np.array(False))
np.testing.assert_array_equal(np.array(mask), [True] * 4)
proto = Dropout.to_function_proto()
assert list(proto.output) == ["output", "mask"] or len(proto.output) == 2
