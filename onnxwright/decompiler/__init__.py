"""Turning a model back into Python; nothing is here yet."""
