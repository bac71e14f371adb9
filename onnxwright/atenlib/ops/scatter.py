"""Scatter, and its kin that combine."""
