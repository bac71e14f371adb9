"""Whether two models compute the same: inputs that they can take, and runs that compare them."""
