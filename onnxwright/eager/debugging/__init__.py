"""Looking into a run: `trace`, `debug`, `first_divergence`, and the statistics they print."""
