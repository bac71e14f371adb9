from collections import OrderedDict
import onnx, torch
inputs = {"input_ids": torch.ones(2, 7, dtype=torch.long), "attention_mask": torch.ones(2, 7)}
axes = OrderedDict({"input_ids": {0: "batch_size", 1: "sequence_length"},
                    "attention_mask": {0: "batch_size", 1: "sequence_length"},
                    "logits": {0: "batch_size"}})
torch.onnx.export(Encoder().eval(), (inputs,), f="hf.onnx", input_names=list(inputs),
                  output_names=["logits", "hidden"], dynamic_axes=dict(axes),
                  do_constant_folding=True, opset_version=14)
made = onnx.load("hf.onnx")
dims = [d.dim_param for d in made.graph.input[0].type.tensor_type.shape.dim]
assert dims == ["batch_size", "sequence_length"], dims
