"""`ONNXProgram`: what an export returns: calling, saving, sessions and verification."""
