"""Functions that make tensors from sizes and numbers."""
