import torch
program = torch.onnx.export(
    Encoder().eval(), (torch.ones(2, 5, dtype=torch.long),),
    kwargs={"attention_mask": torch.ones(2, 5)},
    dynamic_shapes={"input_ids": {0: "b", 1: "s"}, "attention_mask": {0: "b", 1: "s"}},
    dynamo=True, report=True, verify=True, artifacts_dir="artifacts")
program.save("d.onnx", include_initializers=True)
