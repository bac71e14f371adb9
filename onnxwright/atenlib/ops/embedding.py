"""Embedding tables."""
