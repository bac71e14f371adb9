import torch
exported = torch.export.export(model.eval(), (image,))
program = torch.onnx.export(exported, dynamo=True)
program.save("ep.onnx")
torch.onnx.export(exported, (image,), "ep2.onnx", dynamo=True)
