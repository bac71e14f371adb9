"""Norms, ranks and statistics of matrices."""
