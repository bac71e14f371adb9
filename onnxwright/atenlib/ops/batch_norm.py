"""Normalization over batches and instances."""
