"""Whole attention layers as torch's fast paths have them."""
