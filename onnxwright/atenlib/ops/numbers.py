"""Arithmetic of sizes and other Python numbers known only at run time."""
