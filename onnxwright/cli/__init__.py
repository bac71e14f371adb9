"""The command `onnxwright`; each command imports what it needs when it runs."""
