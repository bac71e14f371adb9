"""What Python and PyTorch do with lists whose number of items is known at run time only."""
