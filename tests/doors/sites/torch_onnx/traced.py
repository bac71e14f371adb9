# raises: code of TorchScript
# warns: OW890
import torch
traced = torch.jit.trace(model.eval(), image)
torch.onnx.export(traced, image, "tr.onnx", example_outputs=traced(image), verbose=False)
