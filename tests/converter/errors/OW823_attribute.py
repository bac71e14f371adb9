import torch

import onnxwright as ow


class Gelu(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")


def gelu(op, x, approximate="none"):
    return op.Gelu(x, approximation=approximate)


ow.export(Gelu(), (torch.ones(3),), custom_translation_table={"aten::gelu": gelu})
