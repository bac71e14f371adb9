"""The ATen functions, a family a file."""
