"""numpy's functions and array methods on values: what each means, written once over a backend."""
