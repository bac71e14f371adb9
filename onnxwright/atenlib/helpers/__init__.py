"""What bodies of ATen functions share: one function for one job, by what it is about."""
