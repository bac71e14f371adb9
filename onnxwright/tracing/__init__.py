"""The graph backend that simplifies each call before it becomes a node, and graphs replayed on it."""
