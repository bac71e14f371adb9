import torch
from torch.ao.quantization import FakeQuantize

import onnxwright as ow

model = torch.nn.Sequential(FakeQuantize())
ow.export(model.eval(), (torch.ones(2),))
