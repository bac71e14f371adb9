"""Sorting, top k, order statistics, searching."""
