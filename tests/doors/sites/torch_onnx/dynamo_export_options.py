# raises: `torch.onnx` has removed `ExportOptions`
import torch
options = torch.onnx.ExportOptions(dynamic_shapes=True)
program = torch.onnx.dynamo_export(
    Encoder().eval(), torch.ones(2, 7, dtype=torch.long), attention_mask=torch.ones(2, 7),
    export_options=options)
program.save("options.onnx")
assert program.model_proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param
assert program(torch.ones(3, 4, dtype=torch.long), torch.ones(3, 4))[0].shape == (3, 4, 4)
