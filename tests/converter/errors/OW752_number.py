from onnxwright import run_model

run_model(7, [])
