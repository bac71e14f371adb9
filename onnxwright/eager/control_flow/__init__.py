"""If, Loop, Scan and SequenceMap run step by step: bodies as Python callables and as graphs."""
