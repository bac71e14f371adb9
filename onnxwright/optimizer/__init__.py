"""Passes that make a graph smaller or faster; nothing is here yet."""
