"""Triangles of matrices, and the matrices of Vandermonde."""
