"""The command line; nothing is here yet."""
