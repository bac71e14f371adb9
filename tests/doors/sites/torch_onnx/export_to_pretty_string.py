# raises: `torch.onnx` has removed `export_to_pretty_string`
import torch
text = torch.onnx.export_to_pretty_string(model.eval(), image, verbose=False, google_printer=False)
assert "Conv" in text
