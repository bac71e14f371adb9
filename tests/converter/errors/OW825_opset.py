import torch

import onnxwright as ow

ow.export(torch.nn.Linear(3, 2), (torch.ones(1, 3),), opset_version=5)
