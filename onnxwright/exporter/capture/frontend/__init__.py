"""Python code of the user -> Python code in which decisions are asked at run time.

`capture_by_source` runs a capture: each call below `forward` goes through
`control.functions.bound`, which asks `rewritten_functions` for the code of the function, rewritten
when it is called first.
`structure` reads Python's tree into statements of the converter's tree (decisions, loops and exits;
all else verbatim), the converter's own passes remove `return`, `break` and `continue` and find what
is live, and `generating` writes Python again.  `expressions` rewrites `and`, `or`, `not`, the
ternary, chains, and calls of builtins that decide.  `rewriting` is the way through them.
"""
