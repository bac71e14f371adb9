"""Weights of an exported program as initializers."""
