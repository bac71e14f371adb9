import torch

import onnxwright as ow

ow.export(torch.nn.Linear(3, 2), (torch.ones(2, 3),), dynamic_shapes={"x": {0: "batch"}})
