"""Python source to IR, in stages; `pipeline.STAGES` is the list of them with the reason for the order."""
