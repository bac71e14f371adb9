import torch

import onnxwright as ow

model = torch.nn.ReLU()
with ow.observe(model) as seen:
    model(torch.ones(2, 3))
    model(torch.ones(2, 3, 4))
ow.export(model, **seen.arguments)
