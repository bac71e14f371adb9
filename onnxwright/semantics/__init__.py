"""What operators, indexing, literals and op calls mean: written once, over a backend.

The AST lowering, a traced graph and an eager tensor all call the functions of this package, so the
ways of running a function cannot drift apart.
"""
