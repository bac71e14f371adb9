from onnxscript import FLOAT, INT64, script
from onnxscript import opset18 as op


@script()
def f(x, n):
    return op.Tile(x, n)


model = f.to_model_proto(
    input_types=[FLOAT["A"], INT64[1]], output_types=[FLOAT["B"]], producer_name="us", ir_version=9
)
assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "A"
assert (model.ir_version, model.producer_name) == (9, "us")
(y,) = run(model, x=np.ones(2, np.float32), n=np.array([3]))
assert y.shape == (6,)


@script()
def g(x):
    return op.Relu(x)


model = g.to_model_proto(io_types=FLOAT[None, 3], opset_version=18)
assert len(model.graph.input[0].type.tensor_type.shape.dim) == 2
assert model.opset_import[0].version == 18
