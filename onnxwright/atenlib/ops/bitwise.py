"""Bitwise functions and shifts."""
