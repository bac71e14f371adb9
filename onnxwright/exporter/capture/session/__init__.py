"""One try of a capture by source: what it records, and what stops it."""
