"""Functions that give a tensor another shape without new elements."""
