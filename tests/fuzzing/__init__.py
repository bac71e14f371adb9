"""Random damage to models, bytes, scripts and saves: `python -m tests.fuzzing --seconds N`."""
