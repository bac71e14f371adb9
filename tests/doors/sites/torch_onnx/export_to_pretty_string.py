# warns: OW890 OW891
import torch
text = torch.onnx.export_to_pretty_string(model.eval(), image, verbose=False, google_printer=False)
assert "Conv" in text
