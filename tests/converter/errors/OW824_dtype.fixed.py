import torch

import onnxwright as ow


class Longest(torch.nn.Module):
    def forward(self, x):
        return x.argmax(dim=-1)


def argmax(op, x, dim=None, keepdim=False):
    return op.ArgMax(x, axis=dim, keepdims=int(keepdim))


ow.export(
    Longest(),
    (torch.ones(2, 3),),
    custom_translation_table={"aten::argmax": argmax},
    strict=True,
)
