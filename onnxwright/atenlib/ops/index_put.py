"""Functions that write elements by index."""
