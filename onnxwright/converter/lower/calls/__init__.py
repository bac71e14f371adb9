"""Lowering of calls: operators, scripts, nested functions, Python's and numpy's functions."""
