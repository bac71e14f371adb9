import pickle
import types

import torch

import onnxwright as ow

SETTINGS = types.SimpleNamespace(scale=2.0)
SCALES = [SETTINGS, SETTINGS]


class Saved(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x * len(pickle.dumps(SCALES))
        return x


ow.export(Saved(), (torch.ones(3),))
