"""`capture="source"`: programs whose Python decides by values, captured by rewriting that Python.

`torch.export` runs a model's Python once, with tensors that have no values; `if x.max() > 0` stops
it.  Here the function that asked is rewritten so that the question is asked at run time, and the
capture is tried again.  In order:

1. `strategy` runs a capture.  It fails in a frame that reads a value; `functions` finds the Python
   function of that frame, and puts rewritten code in its place for the time of the next try.  Only
   functions that decide are rewritten, whoever wrote them.
2. `rewriting` makes that code: `structure` reads Python's tree into statements of the converter's
   tree (decisions, loops and exits; all else verbatim), the converter's own passes remove `return`,
   `break` and `continue` and find what is live, and `generating` writes Python again, in which
   each decision is a call of `runtime` with its branches as local functions.  `expressions`
   rewrites `and`, `or`, `not`, the ternary, chains, and calls of builtins that decide.  The code
   keeps the user's file and lines.
3. `runtime` lists what that code calls; `deciding`, `operators`, `items`, `builtin_calls` and
   `loops` have it.  A Python bool goes on as Python does, so rewritten code outside a capture does
   what it did before.  A tensor, or a number that is read from one, makes `conditional` or
   `looping` run all sides into the graph; `regions` takes the nodes of a side out of the graph
   again, as a graph of its own with what it reads as operands, and `merging` finds the type that
   the sides agree on.  The result is `torch.cond` or `while_loop`.
"""
