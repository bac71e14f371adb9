"""Short-time Fourier transforms."""
