"""Lowering of decompiled scripts, node for node: what is written, and nothing else."""
