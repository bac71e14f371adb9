"""Parts of torch's graph in the making: taken out, what they write, the memory of tensors."""
