"""The run time of a capture: converted functions, and the store that every write goes through."""
