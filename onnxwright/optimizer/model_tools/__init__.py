"""Changes of a finished model: extract a part, compose two, fix dimensions, rename, set weights."""
