"""Passes that give the HIR fewer forms: no `break`, `continue` or inner `return` is left."""
