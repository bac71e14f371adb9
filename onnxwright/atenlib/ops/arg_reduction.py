"""Where the extremes are, and extremes with their places."""
