"""Pooling to a given size."""
