"""`capture="source"`: programs whose Python decides by values, captured by rewriting that Python.

`torch.export` runs a model's Python once, with tensors that have no values; `if x.max() > 0` stops
it.  Here functions run as copies in which such questions are asked at run time.  In order:

1. `strategy` runs a capture.  Each call below `forward` goes through `control.functions.bound`,
   which asks `functions` for the code of the function: rewritten when it is called first, whoever
   wrote it.  A decision whose sides cannot be one value is rewritten in another form, and the
   capture is run again.
2. `rewriting` makes that code: `structure` reads Python's tree into statements of the converter's
   tree (decisions, loops and exits; all else verbatim), the converter's own passes remove `return`,
   `break` and `continue` and find what is live, and `generating` writes Python again, in which
   each decision is a call of `runtime` with its branches as local functions.  `expressions`
   rewrites `and`, `or`, `not`, the ternary, chains, and calls of builtins that decide.  The code
   keeps the user's file and lines.
3. `runtime` lists what that code calls; `deciding`, `operators`, `items`, `intrinsics` and
   `loops` have it.  A Python bool goes on as Python does, so rewritten code outside a capture does
   what it did before.  A tensor, or a number that is read from one, makes `conditional` or
   `looping` run all sides into the graph; `regions` takes the nodes of a side out of the graph
   again, as a graph of its own with what it reads as operands, and `merging` finds the type that
   the sides agree on.  The result is `torch.cond` or `while_loop`.
"""
