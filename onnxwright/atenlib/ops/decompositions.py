"""Factorizations of matrices: LU, Cholesky, QR and what is made of them."""
