"""Eigenvalues and singular values by Jacobi rotations, and what is made of them."""
