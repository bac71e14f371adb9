"""Decisions by sizes of which one side is right at all sizes."""
