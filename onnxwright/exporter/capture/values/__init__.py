"""Values that are known when the model runs: numbers, rows, one of several, and how two are joined.

`numbers` and `logic` compute, `one_of` and `candidates` are one of several values, `rows` is a list
whose number of items is known at run time only (`columns` are its tensors), `join` makes one value
of two, `state` and `sides` find what a side of a decision changes.
"""
