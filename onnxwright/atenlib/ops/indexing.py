"""Functions that read elements by index."""
