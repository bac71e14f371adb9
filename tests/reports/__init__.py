"""Public reports of this field, each with a program of our own and the right value."""
