"""Every message, by kind; importing this package fills `CATALOGUE`."""
