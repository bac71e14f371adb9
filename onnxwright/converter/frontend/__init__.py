"""Python source to the HIR: a function's text, its syntax tree, its statements and expressions."""
