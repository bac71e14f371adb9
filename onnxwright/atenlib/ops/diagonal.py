"""Diagonals and triangles."""
