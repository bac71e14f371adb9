"""What a capture is given: dynamic shapes, caches, sparse tensors, as torch takes them."""
