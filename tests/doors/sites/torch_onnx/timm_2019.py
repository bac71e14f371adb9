# raises: `torch.onnx` has removed `_export`
import onnx, torch
torch_out = torch.onnx._export(
    model, image, "t.onnx", export_params=True, verbose=False, input_names=["input0"],
    output_names=["output0"], keep_initializers_as_inputs=False, dynamic_axes={"input0": {0: "batch"}},
    opset_version=11, operator_export_type=torch.onnx.OperatorExportTypes.ONNX_ATEN_FALLBACK)
onnx.checker.check_model(onnx.load("t.onnx"))
assert torch_out.shape == (1, 5)
