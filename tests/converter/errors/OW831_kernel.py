import torch

import onnxwright as ow

layer = torch.nn.Conv1d(1, 1, 2).bfloat16().eval()
x = torch.ones(1, 1, 4).bfloat16()

program = ow.export(layer, (x,), target="any")
program(x)
