"""Element type and device conversions, copies."""
