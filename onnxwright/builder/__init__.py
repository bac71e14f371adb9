"""Building a model by calling operators, without a script function: tracing and `GraphBuilder`."""
