import torch

import onnxwright as ow


class Chosen(torch.nn.Module):
    def forward(self, x):
        rows, others = [x[0]], [x[1]]
        if x.sum() > 0:
            rows.append(x[2])
        else:
            others.append(x[2])
        return torch.stack(rows)


ow.export(Chosen(), (torch.ones(3, 2),))
