"""One try of a capture: what it records, what stops it, and what all other packages ask.

`session` is the record, `errors` what stops it; `model_lines` has the user's line, `number_forms`
and `stand_ins` the forms of numbers and objects, `changes` what is undone at the end.
"""
