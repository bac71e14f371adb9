"""What rewritten code calls: `runtime` lists it, `intrinsics` has the builtins and methods.

A Python bool goes on as Python does, so rewritten code outside a capture does what it did before.
A tensor, or a number that is read from one, makes `decisions.conditional` or `loops.looping` run
all sides into the graph; `graphs.regions` takes the nodes of a side out of the graph again, as a
graph of its own with what it reads as operands, and `values.join` finds the type that the sides
agree on.  The result is `torch.cond` or `while_loop`.
"""
