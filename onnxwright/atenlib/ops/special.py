"""Special functions: gamma, Bessel, error functions and their kin."""
