"""Linear systems, inverses and determinants."""
