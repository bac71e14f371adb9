"""Lists whose number of items is known at run time only, and what Python and PyTorch do with them.

`rows` is such a list, `columns` the tensors of it, `building_rows` one that a loop appends to.
"""
