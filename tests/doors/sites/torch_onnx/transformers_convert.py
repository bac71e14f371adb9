# warns: OW890 OW890
import onnx, torch
tokens = {"input_ids": torch.ones(1, 5, dtype=torch.long), "attention_mask": torch.ones(1, 5)}
torch.onnx.export(
    Encoder().eval(), tuple(tokens.values()), f="bert.onnx",
    input_names=["input_ids", "attention_mask"], output_names=["logits", "hidden"],
    dynamic_axes={"input_ids": {0: "batch", 1: "sequence"}, "attention_mask": {0: "batch", 1: "sequence"}},
    do_constant_folding=True, use_external_data_format=False, enable_onnx_checker=True,
    opset_version=11)
onnx.checker.check_model(onnx.load("bert.onnx"), full_check=True)
