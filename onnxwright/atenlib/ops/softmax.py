"""The softmax family."""
