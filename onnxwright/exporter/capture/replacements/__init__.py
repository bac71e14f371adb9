"""What a capture replaces in PyTorch and in libraries; `entries` is the table."""
