"""Random draws from distributions."""
