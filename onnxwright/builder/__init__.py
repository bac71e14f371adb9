"""Building a model by calling operators, without a script function; nothing is here yet."""
