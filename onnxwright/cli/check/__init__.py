"""Commands that check scripts, models and the ATen library."""
