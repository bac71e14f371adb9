"""Dropout as inference sees it."""
