"""What is said to the user: spans, messages as data, their catalogue, renderers and pages."""
