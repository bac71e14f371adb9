"""Functions of libraries while capturing, in a form that torch can trace."""
