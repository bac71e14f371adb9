"""Logical functions of truth values."""
