"""Rearranging pixels: shuffles, unfolding, grid sampling."""
