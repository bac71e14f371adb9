"""Changes of torch for the time of a capture: what it traces differently than by itself."""
