"""What rewritten code does where it decides: by a value both sides run, by a size too.

`deciding` has `if`, `operators` the operators of Python that decide, `equality` the comparisons;
`conditional` makes one value of two sides, `size_sides` decisions by sizes.
"""
