"""Padding in all modes."""
