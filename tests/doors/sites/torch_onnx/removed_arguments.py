# warns: OW890 OW890 OW890 OW890 OW890 OW890 OW890
import onnx, torch
torch.onnx.export(model.eval(), image, "eo.onnx", example_outputs=model(image), strip_doc_string=True,
                  _retain_param_name=True, aten=False, export_raw_ir=False, onnx_shape_inference=True,
                  enable_onnx_checker=False)
