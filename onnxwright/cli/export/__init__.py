"""Commands that write a model from Python, or Python from a model."""
