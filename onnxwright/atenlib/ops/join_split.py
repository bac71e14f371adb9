"""Functions that join tensors and split them."""
