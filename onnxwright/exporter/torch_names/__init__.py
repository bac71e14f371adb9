"""torch.onnx's names: its arguments, what it has removed, and symbolic functions over `g.op`."""
