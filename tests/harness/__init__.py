"""What only our tests use: golden messages, random and damaged programs, a numpy oracle."""
