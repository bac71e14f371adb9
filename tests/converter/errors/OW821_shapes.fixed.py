import torch

import onnxwright as ow

layer = torch.nn.Linear(4, 2)
ow.export(layer, (torch.ones(1, 4),))
