"""Values that are known when the model runs: one of several, and truth values about them."""
