"""Networks with trained-like weights, exported in three ways, that optimizers are tried on."""
