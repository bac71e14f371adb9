"""Functions that make and take apart complex tensors."""
