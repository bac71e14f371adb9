import torch

import onnxwright as ow


class Half(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.hardshrink(x)


def hardshrink(op, x, lambd=0.5):
    return op.Where(abs(x) < lambd, 0.0, x)


ow.export(
    Half(),
    (torch.tensor([0.0, 0.5, 1.0]),),
    custom_translation_table={"aten::hardshrink": hardshrink},
    verify=True,
)
