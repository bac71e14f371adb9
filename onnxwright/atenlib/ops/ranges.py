"""Sequences of numbers: arange, linspace, logspace."""
