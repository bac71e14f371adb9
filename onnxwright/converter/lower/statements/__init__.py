"""Lowering of statements: bindings, branches, results."""
