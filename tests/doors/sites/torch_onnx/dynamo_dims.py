import torch
batch = torch.export.Dim("batch", min=1, max=64)
program = torch.onnx.export(model.eval(), (torch.randn(2, 3, 16, 16),), "dim.onnx", dynamo=True,
                            dynamic_shapes=({0: batch},), external_data=False)
assert program(torch.randn(7, 3, 16, 16))[0].shape == (7, 5)
