"""Whether two models are the same up to names, and what differs where they are not."""
