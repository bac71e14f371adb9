"""Single steps of recurrent networks."""
