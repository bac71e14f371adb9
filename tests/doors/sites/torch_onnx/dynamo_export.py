# warns: OW891
import torch
export_output = torch.onnx.dynamo_export(model.eval(), image)
export_output.save("my_image_classifier.onnx")
assert export_output(image)[0].shape == (1, 5)
