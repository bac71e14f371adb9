"""Modules with quantized tensors (`torch.ao.nn.quantized`), captured as operators on integers."""
