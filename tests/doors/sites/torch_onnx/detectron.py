import torch
with torch.no_grad():
    with open("rcnn.onnx", "wb") as f:
        torch.onnx.export(Detector(), ([torch.randn(3, 8, 8), torch.randn(3, 9, 9)],), f, opset_version=11,
                          input_names=["image_0", "image_1"])
