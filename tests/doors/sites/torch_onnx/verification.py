import torch
from torch.onnx.verification import verify_onnx_program
program = torch.onnx.export(model.eval(), (image,), dynamo=True)
infos = verify_onnx_program(program)
assert infos
