"""Parts of torch's graph in the making: taken out, made functional, the memory of tensors."""
