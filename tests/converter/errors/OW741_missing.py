from onnxwright import to_script

to_script("no_such_model.onnx")
