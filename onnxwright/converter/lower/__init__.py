"""HIR to IR: every statement and expression becomes operators, or is decided when compiling."""
