import torch

import onnxwright as ow

model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
ow.export(model.eval(), (torch.ones(2, 3),))
