import onnx

from onnxwright import to_script

weight = onnx.TensorProto(name="w", data_type=1, dims=[20000, 20000], data_location=1)
weight.external_data.add(key="location", value="w.bin")
model = onnx.parser.parse_model(
    """<ir_version: 10, opset_import: ["" : 18]>
    g (float[N, 20000] x) => (float[N, 20000] y) { y = MatMul (x, w) }"""
)
model.graph.initializer.append(weight)
to_script(model, weights="external")
