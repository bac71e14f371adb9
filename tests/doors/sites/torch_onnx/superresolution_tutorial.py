import onnx, torch
import torch.onnx
x = torch.randn(1, 3, 16, 16, requires_grad=True)
torch_out = model.eval()(x)
torch.onnx.export(model,               # model being run
                  x,                         # model input (or a tuple for multiple inputs)
                  "super_resolution.onnx",   # where to save the model
                  export_params=True,        # store the trained parameter weights
                  opset_version=10,          # the ONNX version to export the model to
                  do_constant_folding=True,  # whether to execute constant folding
                  input_names = ['input'],   # the model's input names
                  output_names = ['output'], # the model's output names
                  dynamic_axes={'input' : {0 : 'batch_size'},    # variable length axes
                                'output' : {0 : 'batch_size'}})
onnx.checker.check_model(onnx.load("super_resolution.onnx"))
