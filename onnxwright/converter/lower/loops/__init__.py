"""Lowering of loops: what they iterate over, what they carry."""
