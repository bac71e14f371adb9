"""Putting maxima back, pooling by powers and over random windows."""
