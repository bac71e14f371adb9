"""Lowering of expressions: operators, logic, indexing, comprehensions."""
