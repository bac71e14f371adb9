import io, onnx, torch
from pathlib import Path
kwargs = dict(verbose=False, opset_version=17, do_constant_folding=True,
              input_names=["images"], output_names=["output0"], dynamic_axes=None)
with io.BytesIO() as f:
    torch.onnx.export(model, image, f, **kwargs)
    onnx.load_model_from_string(f.getvalue())
torch.onnx.export(model.float(), image, str(Path("best.pt").with_suffix(".onnx")), **kwargs)
torch.onnx.export(model.float(), image, Path("best.pt").with_suffix(".onnx"), **kwargs)
