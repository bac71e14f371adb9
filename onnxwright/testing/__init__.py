"""Comparing models and values in tests; nothing is here yet."""
