"""What rewritten code does where it repeats: loops that end by a value or by a size.

`loops` has `while`, `for` and comprehensions, `looping` makes one `while_loop`, `carries` finds
what an iteration hands to the next.
"""
