import torch
torch.onnx.export(Recurrent().eval(), (torch.randn(1, 3, 4), torch.zeros(1, 1, 6), torch.zeros(1, 1, 6)),
                  "vad.onnx", input_names=["input", "h", "c"], output_names=["output", "hn", "cn"],
                  dynamic_axes={"input": {0: "batch", 1: "sequence"}, "h": {1: "batch"}, "c": {1: "batch"},
                                "output": {0: "batch", 1: "sequence"}}, opset_version=16)
import onnxruntime
session = onnxruntime.InferenceSession("vad.onnx")
feed = {"input": torch.randn(2, 9, 4).numpy(), "h": torch.zeros(1, 2, 6).numpy(), "c": torch.zeros(1, 2, 6).numpy()}
assert session.run(None, feed)[0].shape == (2, 9, 6)
