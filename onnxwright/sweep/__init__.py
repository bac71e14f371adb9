"""The sweep: every ATen function against PyTorch's own samples, and what the table covers."""
