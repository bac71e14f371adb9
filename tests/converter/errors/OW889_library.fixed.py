import linecache

import torch

import onnxwright as ow

text = """
import torch
class Masked(torch.nn.Module):
    def forward(self, x, noise=None):
        noise = torch.rand(x.shape) if noise is None else noise
        return x.where(noise > 0.5, 0)
"""
library = {"__name__": "library"}
name = "site-packages/library.py"
linecache.cache[name] = (len(text), None, text.splitlines(True), name)
exec(compile(text, name, "exec"), library)
ow.export(library["Masked"]().eval(), (torch.ones(2), torch.rand(2)))
