"""Functions steered by a mask."""
