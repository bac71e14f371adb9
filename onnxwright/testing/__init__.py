"""Random and damaged script programs, a numpy oracle, golden messages: what tests compare with."""
