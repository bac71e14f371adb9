"""Python source to IR, in stages: `pipeline.STAGES` lists them, with the reason for the order."""
