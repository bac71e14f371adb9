"""Commands that show a model, compare two, or explain an error."""
