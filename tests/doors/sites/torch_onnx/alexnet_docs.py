import torch
import torch.onnx
input_names = ["actual_input_1"] + ["learned_%d" % i for i in range(6)]
torch.onnx.export(model, image, "alexnet.onnx", verbose=True, input_names=input_names[:1],
                  output_names=["output1"], keep_initializers_as_inputs=True)
import onnx
onnx.checker.check_model(onnx.load("alexnet.onnx"))
print(len(onnx.helper.printable_graph(onnx.load("alexnet.onnx").graph)))
