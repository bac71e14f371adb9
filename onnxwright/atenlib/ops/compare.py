"""Comparisons and predicates."""
