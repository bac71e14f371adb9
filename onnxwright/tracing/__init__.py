"""Graphs built by calls, simplified before each call becomes a node, and graphs replayed so."""
