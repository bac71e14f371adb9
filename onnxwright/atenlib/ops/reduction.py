"""Reductions to sums, means, extremes and truth values."""
