"""TorchScript modules and functions: from their Python, or from their graphs."""
