"""Resizing in all modes."""
