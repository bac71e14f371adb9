import torch

import onnxwright as ow


class Chosen(torch.nn.Module):
    def forward(self, x):
        rows, others = [x[0]], [x[1]]
        chosen = rows if x.sum() > 0 else others
        chosen.append(x[2])
        return torch.stack(rows)


ow.export(Chosen(), (torch.ones(3, 2),))
