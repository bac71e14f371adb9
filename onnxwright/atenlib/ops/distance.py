"""Distances and similarities."""
