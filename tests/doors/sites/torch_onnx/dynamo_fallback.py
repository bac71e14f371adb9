# warns: OW890
import torch
torch.onnx.export(model.eval(), (image,), "f.onnx", dynamo=True, fallback=True, external_data=True,
                  dump_exported_program=True, artifacts_dir="art", optimize=True)
