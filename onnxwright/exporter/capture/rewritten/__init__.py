"""Functions that run with their decisions rewritten.  In order:

1. `strategy` runs a capture.  Each call below `forward` goes through `control.functions.bound`,
   which asks `functions` for the code of the function: rewritten when it is called first, whoever
   wrote it.  A decision whose sides cannot be one value is rewritten in another form, and the
   capture is run again.
2. `frontend` makes that code, in which each decision is a call of `runtime` with its branches as
   local functions.  It keeps the user's file and lines.
3. `runtime` lists what that code calls; `decisions`, `loops`, `lists` and `intrinsics` have it.  A
   Python bool goes on as Python does, so rewritten code outside a capture does what it did before.
   A tensor, or a number that is read from one, makes `decisions.conditional` or `loops.looping` run
   all sides into the graph; `graphs.regions` takes the nodes of a side out of the graph again, as a
   graph of its own with what it reads as operands, and `values.join` finds the type that the sides
   agree on.  The result is `torch.cond` or `while_loop`.
"""
