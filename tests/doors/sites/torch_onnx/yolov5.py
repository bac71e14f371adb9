import onnx, torch
f = "yolo.onnx"
dynamic = {"images": {0: "batch", 2: "height", 3: "width"}, "output0": {0: "batch", 1: "anchors"}}
torch.onnx.export(
    model.cpu() if dynamic else model,  # dynamic=True only compatible with cpu
    image.cpu() if dynamic else image,
    f,
    verbose=False,
    opset_version=12,
    do_constant_folding=True,
    input_names=["images"],
    output_names=["output0"],
    dynamic_axes=dynamic or None,
)
m = onnx.load(f)
onnx.checker.check_model(m)
assert m.opset_import[0].version == 12
