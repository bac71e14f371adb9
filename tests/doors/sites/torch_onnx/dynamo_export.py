# raises: `torch.onnx` has removed `dynamo_export`
import torch
export_output = torch.onnx.dynamo_export(model.eval(), image)
export_output.save("my_image_classifier.onnx")
assert export_output(image)[0].shape == (1, 5)
